/**
 * The loop: call the model, run its tools, say what the record is to be extended by, again.
 *
 * It owns no history. It begins with a settled view, keeps a working copy for its own requests, and whatever is to be
 * recorded leaves it as a delta. At every moment at which it can end, the deltas so far make a settled record.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import type { View } from '../history/index.ts'
import type { JsonObject } from '../json/index.ts'
import {
  settle,
  type Message,
  type Sequence,
  type Settled,
  type ToolCallPart,
  type ToolResultPart,
} from '../message/index.ts'
import { rangeDigest } from '../notes/index.ts'
import { admitted, openCallsOf, resultMessages, whyNot } from './answer.ts'
import type { Channel } from './channel.ts'
import type { Deriving, ModelContext } from './context-for.ts'
import type { Control, Interrupt } from './control.ts'
import type { RunEvent, Sent } from './event.ts'
import { reasonOf, type RunFailure } from './fault.ts'
import { failed, invoke, notRun } from './invoke.ts'
import { overspent, type Limits, type Spent } from './limits.ts'
import type { Model, ModelEvent } from './model.ts'
import { eventOf } from './model-event.ts'
import type { DollarsOf } from './prices.ts'
import type { ModelResponse } from './response.ts'
import { PartialAnswer } from './partial.ts'
import { addUsage, noUsage, type RunResult, type RunStep, type StopReason } from './result.ts'
import type { Tool } from './tool.ts'
import { workingCopy, type WorkingCopy } from './working-copy.ts'

/**
 * Receives each event before the run continues. It may take its time. A `Left`, or a throw, ends the run with the fault
 * `HandlerFailed`.
 *
 * @param event the event
 * @returns nothing, or an `Either`
 */
export type RunHandler = (event: RunEvent) => HandlerAnswer | Promise<HandlerAnswer>

/** The return value of a handler: nothing, or an `Either`, whose `Left` ends the run. */
export type HandlerAnswer = Either<unknown, unknown> | void

/** A loop's options, with every default filled in. */
export interface LoopOptions {
  readonly id: string
  readonly model: Model
  readonly view: Settled<Sequence<Message>>
  readonly callIds: Iterable<string>
  readonly tools: ReadonlyMap<string, Tool>
  readonly toolConcurrency: number
  readonly limits: Limits
  readonly dollarsOf: DollarsOf
  readonly parameters: JsonObject
  readonly context: Deriving | undefined
  readonly receipts: boolean
  readonly handlers: readonly RunHandler[]
  readonly now: () => number
}

type Untold = RunEvent extends infer Event ? (Event extends RunEvent ? Omit<Event, 'seq'> : never) : never
type Problem = RunFailure extends infer Fault ? (Fault extends RunFailure ? Omit<Fault, 'partial'> : never) : never

/** What ends a run from within. Not an Error: it never leaves the loop. */
class Failed {
  readonly problem: Problem

  constructor(problem: Problem) {
    this.problem = problem
  }
}

export class Loop {
  readonly #options: LoopOptions
  readonly #control: Control
  readonly #channel: Channel<RunEvent>
  readonly #work: WorkingCopy
  /** The ids of every call there is, so that none is given out twice. */
  readonly #callIds: Set<string>
  readonly #steps: RunStep[] = []
  #seq = 0
  #step = 0
  #deltas = 0
  #toolCalls = 0
  #interrupts = 0
  #spent: Spent = { usage: noUsage, dollars: 0 }
  #context: ModelContext | undefined
  /** What the last call was sent, if that is to be told. */
  #sent: Sent | undefined

  constructor(options: LoopOptions, control: Control, channel: Channel<RunEvent>) {
    this.#options = options
    this.#control = control
    this.#channel = channel
    this.#work = workingCopy(options.view)
    this.#callIds = new Set(options.callIds)
    for (const { content } of options.view)
      for (const part of content) if (part.type === 'tool_call') this.#callIds.add(part.id)
  }

  /** Run to the end. Never rejects. */
  async run(): Promise<Either<RunFailure, RunResult>> {
    let outcome: Either<Problem, StopReason>
    try {
      outcome = right(await this.#untilStopped())
    } catch (error) {
      // What is no Failed was thrown by a function of the caller's; the run ends as every run does.
      outcome = left(
        error instanceof Failed
          ? error.problem
          : { _tag: 'HandlerFailed', step: this.#step, event: 'step_complete', cause: error },
      )
    }
    const result = this.#result(isLeft(outcome) ? 'error' : outcome.right)
    this.#control.end()
    let ended: Either<RunFailure, RunResult> = isLeft(outcome)
      ? left({ ...outcome.left, partial: result } as RunFailure)
      : right(result)
    try {
      await this.#tell({ type: 'run_complete', result })
    } catch (error) {
      if (error instanceof Failed && !isLeft(ended)) ended = left({ ...error.problem, partial: result } as RunFailure)
    }
    this.#channel.close()
    return ended
  }

  async #untilStopped(): Promise<StopReason> {
    for (;;) {
      let stop = await this.#between(this.#control.cut())
      if (stop === undefined && this.#step >= this.#options.limits.maxSteps) stop = 'max_steps'
      stop ??= overspent(this.#spent, this.#options.limits)?.stop
      if (stop === undefined) {
        stop = await this.#once()
        this.#step += 1
      }
      if (stop === undefined) continue
      const late = this.#control.close()
      if (late === undefined || this.#step >= this.#options.limits.maxSteps) return stop
      await this.#between(late)
    }
  }

  /** An interrupt or an end that came between two steps: there is no answer to cut. */
  async #between(cut: Interrupt | undefined): Promise<StopReason | undefined> {
    if (cut === undefined) return undefined
    await this.#tellCut(cut, '')
    await this.#record([], cut.message)
    return cut.stop
  }

  /** One step. A reason to stop, or undefined to go on. */
  async #once(): Promise<StopReason | undefined> {
    const { limits, model, now } = this.#options
    const began = now()
    await this.#tell({ type: 'step_start', step: this.#step, len: this.#work.len })
    this.#control.beginStep(limits.stepTimeout)
    try {
      const partial = new PartialAnswer()
      const answer = await this.#ask(partial)
      if (answer === 'cut') return await this.#cut(this.#control.takeCut(), partial)

      const response = this.#admitted(answer)
      const calls = openCallsOf(response.message)
      const spent = this.#with(response)
      const refusal = whyNot(calls, response, spent, this.#toolCalls, limits)
      const results =
        refusal === undefined
          ? await this.#runTools(calls)
          : Object.freeze(calls.map((call) => failed(call, refusal.reason)))
      this.#spent = spent
      this.#steps.push(Object.freeze({ response, calls, results, milliseconds: now() - began }))
      await this.#tell({
        type: 'step_complete',
        step: this.#step,
        response,
        results,
        ...(this.#sent && { sent: this.#sent }),
      })

      // What comes in while tools run is no reason to discard: the answer was whole, and its tools may have had effects.
      const cut = this.#control.cut()
      if (cut !== undefined) await this.#tellCut(cut, '')
      await this.#record(
        [...(response.message.content.length === 0 ? [] : [response.message]), ...resultMessages(results, model)],
        cut?.message,
      )
      if (cut !== undefined) return cut.stop
      if (refusal !== undefined) return refusal.stop
      if (calls.length === 0 && response.reason !== 'pause')
        return response.reason === 'max_tokens' ? 'max_tokens' : 'end_turn'
      if (limits.stopWhen?.({ steps: Object.freeze([...this.#steps]), ...this.#spent }) === true) return 'custom'
      return undefined
    } finally {
      this.#control.endStep()
    }
  }

  /** What is spent with one more answer. */
  #with(response: ModelResponse): Spent {
    const { usage, dollars } = this.#spent
    const cost = dollars === undefined ? undefined : this.#options.dollarsOf(response)
    return {
      usage: addUsage(usage, response.usage),
      dollars: dollars === undefined || cost === undefined ? undefined : dollars + cost,
    }
  }

  /** The model's whole answer, or `cut` if it was interrupted before. */
  async #ask(partial: PartialAnswer): Promise<ModelResponse | 'cut'> {
    const { model, tools, parameters, receipts } = this.#options
    const definitions = [...tools.values()]
    const { messages, stablePrefix, estimated } = this.#derive()
    if (receipts)
      this.#sent = Object.freeze({
        len: this.#work.len,
        contextDigest: rangeDigest(messages),
        model: model.name,
        parameters,
        ...(estimated !== undefined && { estimated }),
      })
    const step = this.#step
    const { signal } = this.#control
    let events: AsyncIterator<ModelEvent> | undefined
    try {
      events = model.stream({ messages, tools: definitions, stablePrefix, parameters }, signal)[Symbol.asyncIterator]()
      while (!signal.aborted) {
        const next = await this.#nextOrCut(events)
        if (next === 'cut') break
        if (next.done === true)
          throw new Failed({ _tag: 'StreamEndedEarly', model: model.name, step, partialText: partial.text })
        const event = this.#copyOf(next.value)
        partial.take(event)
        await this.#tell({ type: 'model_event', step, event })
        if (event.type === 'finish') return event
      }
    } catch (error) {
      if (error instanceof Failed) throw error
      if (!signal.aborted)
        throw new Failed({
          _tag: 'ModelFailed',
          model: model.name,
          step,
          reason: reasonOf(error),
          ...statusOf(error),
          partialText: partial.text,
          cause: error,
        })
    } finally {
      // Not awaited: a stream that hangs would hold up the end.
      Promise.resolve(events?.return?.()).catch(() => undefined)
    }
    return 'cut'
  }

  /** One promise an event: a race against one that stays pending for long would keep every loser alive. */
  #nextOrCut(events: AsyncIterator<ModelEvent>): Promise<IteratorResult<ModelEvent> | 'cut'> {
    return new Promise((resolve, reject) => {
      this.#control.onCut = () => resolve('cut')
      events.next().then(resolve, reject)
    })
  }

  /** What the model gave out, as nobody can change it. Throws Failed, if it is no event. */
  #copyOf(given: unknown): ModelEvent {
    const event = eventOf(given)
    if (isLeft(event)) throw new Failed({ _tag: 'InvalidAnswer', ...this.#called(), reason: event.left })
    return event.right
  }

  #called(): { readonly model: string; readonly step: number } {
    return { model: this.#options.model.name, step: this.#step }
  }

  #derive(): ModelContext {
    const { context } = this.#options
    const view = this.#work.view()
    const step = this.#step
    if (context !== undefined) {
      const derived = derivedBy(context, view, this.#context)
      if (isLeft(derived)) throw new Failed({ _tag: 'NoContext', step, cause: derived.left })
      this.#context = derived.right
      return derived.right
    }
    const settled = settle(view)
    if (isLeft(settled)) throw new Failed({ _tag: 'ContextUnsettled', step, cause: settled.left })
    const stablePrefix = this.#context?.messages.length ?? 0
    return (this.#context = { messages: settled.right, stablePrefix })
  }

  /** The answer as it can be recorded. Throws Failed, if it can't be. */
  #admitted(answer: ModelResponse): ModelResponse {
    const admissible = admitted(answer, this.#callIds)
    if (isLeft(admissible)) throw new Failed({ _tag: 'InvalidAnswer', ...this.#called(), reason: admissible.left })
    return admissible.right
  }

  /** The results in call order, however long each takes. */
  async #runTools(calls: readonly ToolCallPart[]): Promise<readonly ToolResultPart[]> {
    const { tools, toolConcurrency, now } = this.#options
    const step = this.#step
    const { signal } = this.#control
    const results: ToolResultPart[] = []
    const queue = calls.entries()
    let stopped: unknown
    const one = async (index: number, call: ToolCallPart): Promise<void> => {
      if (!signal.aborted) await this.#tell({ type: 'tool_call_start', step, call })
      const began = now()
      const result = signal.aborted ? failed(call, notRun(reasonOf(signal.reason))) : await invoke(call, tools, signal)
      results[index] = result
      await this.#tell({ type: 'tool_result', step, result, milliseconds: now() - began })
    }
    // Workers take from one queue. One that fails (a handler refused) lets the others finish what they have begun.
    const worker = async (): Promise<void> => {
      for (const [index, call] of queue) {
        if (stopped !== undefined) return
        await one(index, call).catch((error: unknown) => (stopped ??= error))
      }
    }
    const alone = calls.some(({ name }) => tools.get(name)?.alone === true)
    await Promise.all(Array.from({ length: alone ? 1 : Math.min(toolConcurrency, calls.length) }, worker))
    if (stopped !== undefined) throw stopped
    this.#toolCalls += calls.length
    return Object.freeze(results)
  }

  /** An answer that was cut: told, and what is kept of it recorded, with results for its calls. */
  async #cut(cut: Interrupt, partial: PartialAnswer): Promise<StopReason | undefined> {
    const message = partial.message(cut.behavior)
    const kept =
      message === undefined ? undefined : this.#admitted({ message, reason: 'other', usage: noUsage }).message
    const results = kept === undefined ? [] : openCallsOf(kept).map((call) => failed(call, notRun(cut.reason)))
    await this.#tellCut(cut, partial.text, this.#sent)
    await this.#record(
      [...(kept === undefined ? [] : [kept]), ...resultMessages(results, this.#options.model)],
      cut.message,
    )
    return cut.stop
  }

  async #tellCut(cut: Interrupt, partialText: string, sent?: Sent): Promise<void> {
    this.#interrupts += 1
    await this.#tell({
      type: 'interrupted',
      step: this.#step,
      partialText,
      behavior: cut.behavior,
      ...(sent && { sent }),
    })
  }

  /** A delta, told and taken into the working copy. None if there is nothing to record. */
  async #record(messages: readonly Message[], injected: Message | undefined): Promise<void> {
    const append = Object.freeze(injected === undefined ? [...messages] : [...messages, injected])
    if (append.length === 0) return
    const id = `${this.#options.id}:${this.#deltas++}`
    await this.#tell({ type: 'history_delta', step: this.#step, id, expectedLen: this.#work.len, append }, () => {
      for (const message of append) this.#work.append(message)
    })
  }

  /** Handlers first, so that what a reader sees of a delta has been made durable. */
  async #tell(event: Untold, done?: () => void): Promise<void> {
    const told = Object.freeze({ seq: this.#seq++, ...event }) as RunEvent
    const refusal = await this.#handle(told)
    if (refusal !== undefined && event.type === 'history_delta') throw new Failed(refusal)
    done?.()
    await this.#channel.push(told, event.type === 'model_event')
    if (refusal !== undefined) throw new Failed(refusal)
  }

  /** Why a handler will not have the event. Those after it are not told. */
  async #handle(told: RunEvent): Promise<Problem | undefined> {
    for (const handler of this.#options.handlers) {
      let answer: HandlerAnswer
      try {
        answer = await handler(told)
      } catch (cause) {
        return { _tag: 'HandlerFailed', step: this.#step, event: told.type, cause }
      }
      if (answer !== undefined && isLeft(answer))
        return { _tag: 'HandlerFailed', step: this.#step, event: told.type, cause: answer.left }
    }
    return undefined
  }

  #result(stopReason: StopReason): RunResult {
    return Object.freeze({
      response: this.#steps.at(-1)?.response.message,
      steps: Object.freeze([...this.#steps]),
      counts: Object.freeze({ steps: this.#steps.length, toolCalls: this.#toolCalls, interrupts: this.#interrupts }),
      ...this.#spent,
      stopReason,
      messages: this.#work.view().toArray(),
    })
  }
}

const derivedBy = (
  context: Deriving,
  view: View<Message>,
  previous: ModelContext | undefined,
): Either<unknown, ModelContext> => {
  try {
    return context(view, previous)
  } catch (error) {
    return left(error)
  }
}

/** The HTTP status that the clients of providers put on what they throw. */
const statusOf = (error: unknown): { readonly status?: number } => {
  const found =
    typeof error === 'object' && error !== null
      ? ((error as { status?: unknown; statusCode?: unknown }).status ?? (error as { statusCode?: unknown }).statusCode)
      : undefined
  return typeof found === 'number' ? { status: found } : {}
}
