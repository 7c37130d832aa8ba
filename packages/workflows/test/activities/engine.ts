/**
 * A workflow engine, the smallest there is: what goes in and out of an activity is JSON and becomes state, failures are
 * tried again as the policy says, heartbeats are kept.
 */
import { createPendingHistory, persist, type RefHistory } from '@indelible/workflows/refs'
import { type Message, type Store } from 'indelible'
import {
  ActivityFailure,
  historyActivities,
  type ActivityOptions,
  type HistoryActivities,
  type StreamEvent,
} from '@indelible/workflows/activities'
import { scriptedModel, type Model, type ModelRegistry } from 'indelible/run'
import { ok } from '../../../../test/task-results.ts'
import type { Heartbeat } from '../../src/activities/event.ts'
import type { Line } from 'indelible/internal/run'

export const registryOf = (model: Model): ModelRegistry => ({ openai: { apiKey: 'k', model: () => model } })
export const registry = (lines: readonly Line[]): ModelRegistry => registryOf(scriptedModel(lines))
export const wanted = { name: 'gpt-x' }

/** A history that is stored, as a workflow has it. */
export const begun = async (store: Store, messages: readonly Message[]): Promise<RefHistory> =>
  (await ok(persist(store, createPendingHistory({ from: messages })))).refHistory()

export const ends = (events: readonly StreamEvent[]): readonly StreamEvent[] =>
  events.filter(({ type }) => type === 'stream_end')

/** What an activity throws, which must be a failure. */
export const failed = async (work: Promise<unknown>): Promise<ActivityFailure> => {
  const error: unknown = await work.then(
    () => new Error('it went well'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ActivityFailure)) throw error
  return error
}

export interface Engine {
  /** As a workflow calls them. */
  readonly activities: HistoryActivities
  /** Everything that has become part of the workflow's state, as text. */
  readonly state: () => string
  readonly events: StreamEvent[]
  readonly beats: Heartbeat[]
  readonly failures: ActivityFailure[]
  /** Loses what an activity answers, as if its worker had died on the way, so many times. */
  loseAnswers: number
}

export interface EngineOptions extends ActivityOptions {
  /** Default: 1. */
  readonly attempts?: number
}

export const engine = ({ attempts = 1, ...options }: EngineOptions): Engine => {
  const written: string[] = []
  const events: StreamEvent[] = []
  const beats: Heartbeat[] = []
  const failures: ActivityFailure[] = []
  let attempt = 1
  const hosted = historyActivities({
    events: { publish: async (event) => void events.push(structuredClone(event)) },
    heartbeat: (beat) => void beats.push(beat),
    invocation: () => ({ attempt, last: attempt >= attempts }),
    ...options,
  })
  const asJson = <T>(value: T): T => {
    const text = JSON.stringify(value)
    written.push(text ?? '')
    return text === undefined ? value : (JSON.parse(text) as T)
  }
  const call =
    <Input, Output>(activity: (input: Input) => Promise<Output>) =>
    async (input: Input): Promise<Output> => {
      const given = asJson(input)
      for (attempt = 1; ; attempt++) {
        try {
          const answer = await activity(given)
          if (made.loseAnswers-- > 0) throw new Error('the worker died')
          return asJson(answer)
        } catch (error) {
          if (error instanceof ActivityFailure) failures.push(error)
          written.push(String(error), JSON.stringify(error), error instanceof Error ? String(error.cause ?? '') : '')
          if (attempt >= attempts || (error instanceof ActivityFailure && !error.retryable)) throw error
        }
      }
    }
  const made: Engine = {
    activities: {
      appendMessage: call(hosted.appendMessage),
      manage: call(hosted.manage),
      hydrate: hosted.hydrate,
      stream: call(hosted.stream),
      adopt: call(hosted.adopt),
      keepRefs: call(hosted.keepRefs),
      runTool: call(hosted.runTool),
      endStream: call(hosted.endStream),
      forgetActions: call(hosted.forgetActions),
    },
    state: () => [...written, JSON.stringify(beats)].join('\n'),
    events,
    beats,
    failures,
    loseAnswers: 0,
  }
  return made
}
