/**
 * What a durable workflow can't do itself, as plain functions: they take JSON and give JSON, so that any engine can host
 * them. What they give holds refs and no content, but for `hydrate`, which is there to give it.
 *
 * They throw `ActivityFailure`, and where the engine has cancelled them, what it has cancelled them with.
 */
import { isLeft } from 'fp-ts/lib/Either.js'
import { manageHistory } from '../context/index.ts'
import { digestOf } from '../digest/index.ts'
import { decodeMessage, messageFaultText } from '../message/index.ts'
import { isPageKind } from '../pages/index.ts'
import { ActivityFailure } from './failure.ts'
import { Failed, given, hostOf, jsonOf, knownOf, stored, type ActivityOptions, type Host } from './host.ts'
import type { AppendInput, AppendResult, EndInput, HistoryActivities } from './input.ts'
import { streamWith } from './stream.ts'

/**
 * The activities on a store and models. Give their functions to the engine, and `chatStep` to the workflow.
 *
 * @example
 * const activities = historyActivities({ store, registry, events, heartbeat: (beat) => Context.current().heartbeat(beat) })
 */
export const historyActivities = (options: ActivityOptions): HistoryActivities => {
  const host = hostOf(options)
  return Object.freeze<HistoryActivities>({
    appendMessage: (input) => reported(host, () => append(host, input)),
    manage: ({ history, ...limit }) =>
      reported(host, async () => {
        const view = (await host.hydrated({ history })).view()
        const { retained, residency, tokens: size, budget, overBudget } = manageHistory(view, limit)
        const shown = [...residency].flatMap((level, position) => (level === 'pointer' ? [] : [position]))
        return { retained, shown, size, limit: 'maxTokens' in limit ? limit.maxTokens : (limit.maxChars ?? budget), overBudget }
      }),
    hydrate: (input) =>
      reported(host, async () => {
        const view = (await host.hydrated(input)).view()
        return { messages: view.toArray(), pages: [...view.pages] }
      }),
    stream: (input) => reported(host, () => streamWith(host, input)),
    endStream: (input) => reported(host, () => end(host, input)),
  })
}

/** What an activity gives, with each failure told to who wants to know. */
const reported = async <T>(host: Host, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Failed)) throw error
    host.onFailure?.(error.fault)
    throw new ActivityFailure(error.fault)
  }
}

const append = async (host: Host, { action, message, page, scope }: AppendInput): Promise<AppendResult> => {
  const { blocks, actions } = host.open(scope)
  const decoded = decodeMessage(message)
  if (isLeft(decoded)) throw new Failed({ _tag: 'InvalidInput', reason: `the message is none: ${messageFaultText(decoded.left)}` })
  if (page !== undefined && !isPageKind(page)) throw new Failed({ _tag: 'InvalidInput', reason: 'the page kind is none' })
  const input = digestOf(JSON.stringify(['append', decoded.right, page ?? null]))
  const known = await knownOf(actions, action, input)
  if (known?.result !== undefined) return known.result as unknown as AppendResult // as it was noted here
  const ref = await stored(blocks, decoded.right, page)
  return given(await actions.note(action, { input, result: jsonOf({ ref }), ended: true })).result as unknown as AppendResult
}

const end = async ({ open, events, invocation }: Host, { action, scope }: EndInput): Promise<void> => {
  const { actions } = open(scope)
  if (given(await actions.find(action))?.ended === true) return
  await events?.publish({ action, attempt: invocation?.().attempt ?? 1, seq: 0, type: 'stream_end', outcome: 'failed', reason: 'It was given up.' })
  given(await actions.note(action, { input: '', ended: true }))
}
