/**
 * The loop: calls the model, runs its tools, emits the messages to record, and repeats.
 *
 * It owns no history. It starts with a view, keeps a working copy for its own requests, and emits everything
 * to be recorded as deltas. Wherever it may end, the deltas so far form a settled record.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, isLeft, left, right, snapshot, ownField, present, type JsonObject } from '../../json/index.ts'
import type { HistoryDelta } from '../../history/index.ts'
import {
  textOf,
  toolCall,
  type Message,
  type Repair,
  type Sequence,
  type ToolCallPart,
  type ToolResultPart,
} from '../../message/index.ts'
import {
  answerBrokeOff,
  callsOf,
  denialText,
  faultBeforeCall,
  isCut,
  notRunAgainText,
  notRunText,
  resultMessages,
  withOwnCallId,
} from '../../message/internal.ts'
import { rangeDigest } from '../../notes/internal.ts'
import { admitAnswer, callRefusal, stopOf } from './answer.ts'
import type { CallWriter } from '../tools/calls.ts'
import type { Channel } from './channel.ts'
import type { Deriving, ModelContext } from './context-for.ts'
import type { Control, Interrupt } from './control.ts'
import type { InterruptBehavior, RunEvent, SentRequest } from '../event.ts'
import { modelFailureOf } from '../model/model-failure.ts'
import type { RunFailure } from '../fault.ts'
import { callCallback, reasonOf, type Clock } from '../../task/index.ts'
import type { LookAhead, RunHandler } from '../handler.ts'
import { rejectOnAbort, errorResult, givenResult, invokeRecorded, waitsForApproval } from '../tools/invoke.ts'
import { exceedsLimits, type Limits, type SpentSoFar } from './limits.ts'
import type { Model, ModelEvent } from '../model/model.ts'
import type { ModelResponse } from '../model/response.ts'
import { eventOf } from '../model/model-event.ts'
import {
  approvalOf,
  viewDigestOf,
  withDecision,
  type Decision,
  type DecisionByToken,
  type OpenAnswer,
  type WaitingCall,
} from '../open-answer.ts'
import type { DollarsOf } from './prices.ts'
import { mendedContext, repairsIn } from './mended.ts'
import { Prompter, type Prompt } from './prompt.ts'
import type { SessionFault } from '../../session/index.ts'
import { cutAnswerNotice } from '../../session/internal.ts'
import { PartialAnswer } from './partial.ts'
import { addUsage, noUsage, type RunResult, type RunStep, type StopReason } from '../result.ts'
import { settledResults } from '../settle-open.ts'
import type { Tool } from '../tools/tool.ts'
import { askHandler, type HandlerLimit } from './ask-handler.ts'
import { WorkingCopy } from './working-copy.ts'

/** The options of a run, with all defaults. */
export interface LoopSettings {
  readonly id: string
  readonly model: Model
  readonly tools: ReadonlyMap<string, Tool>
  readonly toolConcurrency: number
  readonly limits: Limits
  readonly dollarsOf: DollarsOf
  readonly parameters: JsonObject
  readonly context: Deriving | undefined
  readonly prompt: Prompt
  readonly receipts: boolean
  /** Writes the records of tool calls. */
  readonly calls: CallWriter | undefined
  readonly handlers: readonly RunHandler[]
  readonly clock: Clock
}

/** The starting point of a run. */
export interface Start {
  readonly view: Sequence<Message>
  /** The ids of calls that are not in `view`. */
  readonly callIds?: Iterable<string> | undefined
  /** A step to continue first, which another run left open. */
  readonly open?: OpenAnswer | undefined
  readonly decisions?: DecisionByToken | undefined
  /** Handlers called before the caller's. */
  readonly handlers?: readonly RunHandler[]
}

type EventWithoutSeq = RunEvent extends infer Event ? (Event extends RunEvent ? Omit<Event, 'seq'> : never) : never
type RunFault = RunFailure extends infer Fault ? (Fault extends RunFailure ? Omit<Fault, 'partial'> : never) : never

/** Thrown to end a run from within. Not an Error: it never leaves the loop. */
class RunEnded {
  readonly problem: RunFault

  constructor(problem: RunFault) {
    this.problem = problem
  }
}

export class Loop {
  readonly #options: LoopSettings
  readonly #decisions: DecisionByToken | undefined
  readonly #viewLength: number
  readonly #control: Control
  readonly #channel: Channel<RunEvent>
  readonly #work: WorkingCopy
  /** The ids of all known calls, so that none is used twice. */
  readonly #callIds: Set<string>
  /** The ids of streaming calls, by block index. */
  readonly #streamedIds = new Map<number, string>()
  readonly #steps: RunStep[] = []
  #seq: number
  #step = 0
  #deltas = 0
  #toolCalls = 0
  #interrupts = 0
  #spent: SpentSoFar = { usage: noUsage, dollars: 0 }
  #context: ModelContext | undefined
  readonly #prompter: Prompter
  /** The repairs of what is sent of the record, which was damaged when the run began. */
  #repairs: readonly Repair[] = []
  /** The last request, if receipts are on. */
  #sent: SentRequest | undefined
  /** The step to continue; later one that waits for approval. */
  #open: OpenAnswer | undefined
  /** The finished work that no delta has yet: a handler that fails must not lose it. */
  #unrecorded: (() => { readonly delta: HistoryDelta<Message>; readonly unfinished?: boolean }) | undefined
  readonly #lookAhead: number
  readonly #within: HandlerLimit
  /** The handlers that receive events: all, unless the run ended before some had begun. */
  #handlers: readonly RunHandler[]

  /** @param seq the number of the first event */
  constructor(settings: LoopSettings, start: Start, seq: number, control: Control, channel: Channel<RunEvent>) {
    const { view, callIds = [], open, decisions, handlers = [] } = start
    this.#options = settings
    this.#viewLength = view.length
    this.#decisions = decisions
    this.#seq = seq
    this.#control = control
    this.#channel = channel
    this.#work = new WorkingCopy(view)
    this.#handlers = [...handlers, ...settings.handlers]
    this.#prompter = new Prompter(settings.prompt)
    this.#open = open && snapshot(open)
    this.#within = { milliseconds: settings.limits.handlerTimeout, clock: settings.clock }
    this.#lookAhead = Math.max(0, ...this.#handlers.map(({ lookAhead = 0 }) => lookAhead))
    this.#callIds = new Set(callIds)
    for (const { content } of view)
      for (const part of content) if (part.type === 'tool_call') this.#callIds.add(part.id)
  }

  /** Runs to the end. Never rejects. */
  async run(): Promise<Either<RunFailure, RunResult>> {
    let outcome: Either<RunFault, StopReason>
    const begun: RunHandler[] = []
    try {
      await this.#beginHandlers(begun)
      // A request that ends with a cut answer makes the model continue it in the middle of a word, or is refused.
      if (this.#open === undefined && isCutAnswer(this.#work.view().at(-1)))
        await this.#record(this.#deltaOf([cutAnswerNotice()]))
      outcome = right(await this.#untilStopped())
    } catch (error) {
      // Anything but a `RunEnded` was thrown by a user function. The run then ends like any other.
      outcome = left(
        error instanceof RunEnded
          ? error.problem
          : { _tag: 'HandlerFailed', step: this.#step, event: 'step_complete', cause: error },
      )
      await this.#recordRest()
    }
    const result = this.#result(isLeft(outcome) ? 'error' : outcome.right)
    this.#control.end()
    let ended: Either<RunFailure, RunResult> = isLeft(outcome)
      ? left({ ...outcome.left, partial: result } as RunFailure)
      : right(result)
    for (const handler of begun) await askHandler(() => handler.end?.(result), this.#within)
    try {
      await this.#emit({ type: 'run_complete', result })
    } catch (error) {
      if (error instanceof RunEnded && !isLeft(ended)) ended = left({ ...error.problem, partial: result } as RunFailure)
    }
    this.#channel.close()
    return ended
  }

  /** @param begun receives the handlers that have begun, and those that only have an `end` */
  async #beginHandlers(begun: RunHandler[]): Promise<void> {
    const stop = (reason: string): void => void this.#control.cancel(reason, 'saveMarked')
    for (const [index, handler] of this.#handlers.entries()) {
      if (handler.begin === undefined) {
        if (Object.hasOwn(handler, 'end')) begun.push(handler)
        continue
      }
      const wanted = askHandler(() => handler.begin?.(stop), { milliseconds: Infinity, clock: this.#options.clock }) // no timeout: it may wait for a lease
      const refused = await Promise.race([wanted, untilCut(this.#control.signal)])
      if (refused === 'cut') {
        // When it resolves later, end what it began.
        const end = async (): Promise<unknown> => handler.end?.(this.#result('cancelled'))
        void wanted.then((late) => late ?? end()).catch(() => undefined)
        this.#handlers = this.#handlers.slice(0, index)
        return
      }
      if (refused !== undefined) throw new RunEnded(startFaultOf(refused.cause))
      begun.push(handler)
    }
  }

  async #untilStopped(): Promise<StopReason> {
    for (;;) {
      let stop: StopReason | undefined
      do stop = await this.#takeSignal(this.#control.cut())
      while (stop === undefined && this.#control.pending !== undefined)
      if (stop === undefined && this.#step >= this.#options.limits.maxSteps) stop = 'max_steps'
      stop ??= exceedsLimits(this.#spent, this.#options.limits)?.stop
      if (stop === undefined && this.#control.isPaused) stop = 'paused'
      if (stop === undefined) {
        stop = await this.#runStep()
        this.#step += 1
      }
      if (stop === undefined) continue
      const late = this.#control.close()
      if (late === undefined || this.#step >= this.#options.limits.maxSteps) return stop
      await this.#takeSignal(late)
    }
  }

  /** Handles a signal between two steps, when there is no answer to cut. */
  async #takeSignal(cut: Interrupt | undefined): Promise<StopReason | undefined> {
    if (cut === undefined) return undefined
    // A new message instead of decisions denies the waiting calls.
    const left = cut.message === undefined ? undefined : this.#open
    return this.#endCut(cut, left === undefined ? [] : this.#stepMessages(left.response, settledResults(left)))
  }

  /** Runs one step. Returns a stop reason, or undefined to continue. */
  async #runStep(): Promise<StopReason | undefined> {
    const { limits, clock } = this.#options
    const began = clock.now()
    if (this.#step === 0) {
      this.#repairs = repairsIn(this.#work.view()) // the run's own messages need none
      if (this.#repairs.length > 0) await this.#emit({ type: 'mended', step: this.#step, repairs: this.#repairs })
    }
    const continues = this.#step === 0 ? continuedAnswer(this.#work.view()) : undefined
    await this.#emit({
      type: 'step_start',
      step: this.#step,
      len: this.#work.len,
      ...present({ continues, open: this.#open }),
    })
    this.#control.beginStep(limits.stepTimeout)
    try {
      const left = this.#open
      const partial = new PartialAnswer()
      const wanted =
        left === undefined
          ? await this.#streamAnswer(partial)
          : { response: this.#orInvalid(this.#admissible(left.response)), held: [] }
      if (wanted === 'cut') return await this.#endCutAnswer(this.#control.cut() as Interrupt, partial) // the stream was cut by a signal

      const { response, held } = wanted
      const calls = callsOf(response.message)
      const spent = this.#spentWith(response)
      this.#spent = spent
      const refusal = left === undefined ? callRefusal(calls, response, spent, this.#toolCalls, limits) : undefined
      const refused = refusal && Object.freeze(calls.map((call) => errorResult(call, refusal.reason)))
      let announced: AnnouncedDelta | undefined
      const finished = new Map(left?.results.map((result) => [result.callId, result]))
      const known = (): readonly ToolResultPart[] =>
        refused ?? calls.map((call) => finished.get(call.id) ?? this.#notRun(call, faultBeforeCall))
      this.#unrecorded = () =>
        announced ?? {
          delta: this.#deltaOf(this.#stepMessages(response, known())),
          unfinished: refused === undefined && calls.some(({ id }) => !finished.has(id)),
        }
      const announceResults = (results: readonly ToolResultPart[]): HistoryDelta<Message> => {
        const cut = this.#control.pending
        announced = { delta: this.#deltaOf(this.#stepMessages(response, results), cut?.message), cut }
        return announced.delta
      }
      const whole = refused ?? (calls.length === 0 ? Object.freeze([]) : undefined)
      const last = calls.length === 0 && response.reason !== 'pause' && this.#control.pending === undefined
      if (last) this.#control.beginLast()
      const receipt = this.#sent && { sent: this.#sent, usage: response.usage }
      await this.#emitHeld(held, {
        response,
        ...(whole && { delta: announceResults(whole), last, ...present({ receipt }) }),
      })
      const results = whole ?? (await this.#runTools(calls, finished, response, announceResults))
      if (results === 'approval' || results === 'paused') return results
      if (results === 'discarded')
        return await this.#endCut(this.#control.cut() as Interrupt, [], textOf(response.message), this.#sent) // it is pending
      this.#steps.push(Object.freeze({ response, calls, results, milliseconds: clock.now() - began }))
      await this.#emit({
        type: 'step_complete',
        step: this.#step,
        response,
        results,
        ...(this.#sent && { sent: this.#sent }),
      })

      // Once a tool has started, a signal does not discard the step: the tool may have had effects.
      const cut = this.#control.cut()
      if (cut !== undefined) await this.#emitInterrupt(cut, '')
      await this.#record(announced?.delta ?? this.#deltaOf(this.#stepMessages(response, results), cut?.message))
      if (announced !== undefined && announced.cut !== cut) await this.#record(this.#deltaOf([], cut?.message))
      if (cut !== undefined) return cut.stop
      if (refusal !== undefined) return refusal.stop
      if (calls.length === 0 && response.reason !== 'pause') return stopOf(response)
      const stop = callCallback('limits.stopWhen', () => {
        const answer: unknown = limits.stopWhen?.({ steps: Object.freeze([...this.#steps]), ...this.#spent })
        if (answer === undefined || typeof answer === 'boolean') return answer
        throw new TypeError(
          `it returned ${answer instanceof Promise ? 'a promise' : describe(answer)}, not true or false`,
        )
      })
      if (isLeft(stop)) throw new RunEnded({ _tag: 'StopWhenThrew', step: this.#step, cause: stop.left.cause })
      return stop.right === true ? 'custom' : undefined
    } finally {
      this.#control.endStep()
    }
  }

  /** The totals including one more answer. */
  #spentWith(response: ModelResponse): SpentSoFar {
    const { usage, dollars } = this.#spent
    const cost = dollars === undefined ? undefined : this.#options.dollarsOf(response)
    return {
      usage: addUsage(usage, response.usage),
      dollars: dollars === undefined || cost === undefined ? undefined : dollars + cost,
    }
  }

  #stepMessages({ message }: ModelResponse, results: readonly ToolResultPart[]): readonly Message[] {
    return [...(message.content.length === 0 ? [] : [message]), ...resultMessages(results, this.#together)]
  }

  get #together(): boolean {
    return this.#options.model.results === 'together'
  }

  /**
   * Streams the model's answer. Returns it with the final events that are not emitted yet, or `cut`
   * if interrupted. If the stream breaks off or a handler fails, its partial answer is recorded with a mark.
   */
  async #streamAnswer(
    partial: PartialAnswer,
  ): Promise<{ readonly response: ModelResponse; readonly held: ModelEvent[] } | 'cut'> {
    const { model, tools, parameters, receipts, prompt } = this.#options
    const definitions = [...tools.values()]
    const context = this.#derive()
    const { estimated, derivedBy } = context
    const { messages, stablePrefix } = this.#prompter.request(context)
    if (context.messages.length === 0) throw new RunEnded({ _tag: 'NothingToAnswer', step: this.#step })
    if (receipts)
      this.#sent = Object.freeze({
        len: this.#work.len,
        contextDigest: rangeDigest(context.messages),
        model: model.name,
        parameters,
        ...present({ estimated, derivedBy, instructions: prompt.instructions }),
        ...(this.#repairs.length > 0 && { repairs: this.#repairs }),
      })
    const step = this.#step
    const { signal } = this.#control
    let events: AsyncIterator<ModelEvent> | undefined
    const held: ModelEvent[] = []
    let since = 0 // 0 before the first event
    try {
      events = model.stream({ messages, tools: definitions, stablePrefix, parameters }, signal)[Symbol.asyncIterator]()
      let coming: Promise<IteratorResult<ModelEvent>> | undefined
      while (!signal.aborted) {
        coming ??= events.next()
        const next = await this.#nextOrCut(
          coming,
          held.length === 0 ? undefined : Math.max(0, since + this.#lookAhead - this.#options.clock.now()),
        )
        if (next === 'cut') break
        if (next === 'waited') {
          await this.#emitHeld(held)
          continue
        }
        coming = undefined
        if (next.done === true)
          throw new RunEnded({
            _tag: 'StreamEndedEarly',
            model: model.name,
            step,
            partialText: partial.text,
            ...(since === 0 && { empty: true }),
          })
        const event = this.#copyOf(next.value)
        partial.take(event)
        held.push(event)
        if (event.type === 'finish') return { response: this.#orInvalid(this.#admissible(event)), held }
        if (held.length === 1) since = this.#options.clock.now()
        if (held[0]?.type !== 'block_end' || this.#lookAhead === 0) await this.#emitHeld(held)
      }
      await this.#emitHeld(held)
    } catch (error) {
      const problem: RunFault | undefined =
        error instanceof RunEnded
          ? error.problem
          : signal.aborted
            ? undefined
            : {
                _tag: 'ModelFailed',
                model: model.name,
                step,
                ...modelFailureOf(error),
                partialText: partial.text,
                cause: error,
              }
      if (problem !== undefined) this.#keepPartial(partial)
      await this.#emitHeld(held)
      if (problem !== undefined) throw new RunEnded(problem)
    } finally {
      // Not awaited: a hanging stream would delay the end.
      Promise.resolve(events?.return?.()).catch(() => undefined)
    }
    return 'cut'
  }

  /** Emits held events, each with those that follow it. */
  async #emitHeld(held: ModelEvent[], more: Partial<LookAhead> = {}): Promise<void> {
    while (held.length > 0) {
      const event = held.shift() as ModelEvent
      await this.#emit({ type: 'model_event', step: this.#step, event }, undefined, {
        ...more,
        events: Object.freeze([...held]),
      })
    }
  }

  /** Lets the run's end record a partial answer with a mark, unless it has no readable or no valid content. */
  #keepPartial(partial: PartialAnswer): void {
    const messages = this.#cutMessages(partial, 'saveMarked', answerBrokeOff)
    if (isLeft(messages) || messages.right.length === 0) return
    const delta = this.#deltaOf(messages.right)
    this.#unrecorded = () => ({ delta })
  }

  /** What is kept of an answer that was cut, with results that say that its calls were not run. A `Left`: it can't be recorded. */
  #cutMessages(
    partial: PartialAnswer,
    behavior: InterruptBehavior,
    reason: string,
  ): Either<string, readonly Message[]> {
    const message = partial.message(behavior)
    if (message === undefined) return right([])
    const response = this.#admissible({ message, reason: 'other', usage: noUsage })
    if (isLeft(response)) return response
    const results = callsOf(response.right.message).map((call) => errorResult(call, notRunText(reason)))
    return right(this.#stepMessages(response.right, results))
  }

  /** One promise per event: racing against a long-pending promise would keep every loser alive. */
  #nextOrCut(
    coming: Promise<IteratorResult<ModelEvent>>,
    wait: number | undefined,
  ): Promise<IteratorResult<ModelEvent> | 'cut' | 'waited'> {
    return new Promise<IteratorResult<ModelEvent> | 'cut' | 'waited'>((resolve, reject) => {
      const timer = wait === undefined ? undefined : this.#options.clock.after(wait, () => resolve('waited'))
      const whenDone =
        <T>(done: (value: T) => void) =>
        (value: T): void => {
          timer?.cancel()
          done(value)
        }
      this.#control.onCut = () => whenDone(resolve)('cut')
      coming.then(whenDone(resolve), whenDone(reject))
    })
  }

  /** A frozen copy of the model's output. Throws `RunEnded` if it is not an event. */
  #copyOf(value: unknown): ModelEvent {
    return this.#withOwnId(this.#orInvalid(eventOf(value)))
  }

  /** What the model gave. Throws `RunEnded` if it is not valid. */
  #orInvalid<T>(answer: Either<string, T>): T {
    if (!isLeft(answer)) return answer.right
    const { name: model } = this.#options.model
    throw new RunEnded({ _tag: 'InvalidAnswer', model, step: this.#step, reason: answer.left })
  }

  /** Gives a call a unique id from its first event on, so that readers see the recorded id. */
  #withOwnId(event: ModelEvent): ModelEvent {
    const callId = event.type === 'block_start' ? ownField(event, 'callId') : undefined
    if (event.type === 'block_start' && callId !== undefined) {
      const { id } = withOwnCallId(toolCall(callId, ownField(event, 'name') ?? '', ''), this.#callIds)
      this.#streamedIds.set(event.index, id)
      return id === callId ? event : Object.freeze({ ...event, callId: id })
    }
    const input = this.#streamedIds.get(
      Object.hasOwn(event, 'index') ? (event as { readonly index: number }).index : -1,
    )
    if (input === undefined || event.type !== 'block_end' || event.part.type !== 'tool_call') return event
    this.#callIds.delete(input)
    return Object.freeze({ ...event, part: withOwnCallId(event.part, this.#callIds) })
  }

  #derive(): ModelContext {
    const { context } = this.#options
    const view = this.#work.view()
    const step = this.#step
    if (context !== undefined) {
      let derived: Either<unknown, ModelContext>
      try {
        derived = context(view, this.#context)
      } catch (error) {
        derived = left(error)
      }
      if (isLeft(derived)) throw new RunEnded({ _tag: 'NoContext', step, cause: derived.left })
      this.#context = derived.right
      return derived.right
    }
    return (this.#context = mendedContext(view, this.#context?.messages))
  }

  /** The answer in recordable form. */
  #admissible(answer: ModelResponse): Either<string, ModelResponse> {
    for (const id of this.#streamedIds.values()) this.#callIds.delete(id) // the answer's calls get the same ids again
    this.#streamedIds.clear()
    return admitAnswer(answer, this.#callIds)
  }

  /**
   * The results in call order, whatever the completion order; `approval` if calls wait for it and all others have
   * results; `paused` if some have not started when the run pauses; `discarded` if a signal discards the answer before any of its calls has started. The last result is
   * emitted along with the step's delta.
   */
  async #runTools(
    calls: readonly ToolCallPart[],
    results: Map<string, ToolResultPart>,
    response: ModelResponse,
    announceResults: (results: readonly ToolResultPart[]) => HistoryDelta<Message>,
  ): Promise<readonly ToolResultPart[] | 'approval' | 'paused' | 'discarded'> {
    const { tools, toolConcurrency, clock } = this.#options
    const step = this.#step
    const { signal } = this.#control
    const inOrder = (): readonly ToolResultPart[] => Object.freeze(calls.flatMap(({ id }) => results.get(id) ?? []))
    const waiting = new Set<ToolCallPart>()
    for (const call of calls) if (!results.has(call.id) && (await this.#waits(call))) waiting.add(call)
    if (this.#open === undefined && this.#control.pending?.discardsComplete === true) return 'discarded'
    const todo = calls.filter((call) => !results.has(call.id) && !waiting.has(call))
    const resultOf = async (call: ToolCallPart): Promise<ToolResultPart> => {
      const token = this.#tokenOf(call)
      const decision = this.#decisionOn(token)
      if (decision?.type === 'denied')
        return withDecision(errorResult(call, denialText(decision.reason, this.#wasStarted(call))), token, decision)
      if (decision?.type === 'answered') return withDecision(givenResult(call, decision.output), token, decision)
      if (signal.aborted) return this.#notRun(call, reasonOf(signal.reason))
      await this.#emit({ type: 'tool_call_start', step, call })
      if (signal.aborted) return this.#notRun(call, reasonOf(signal.reason))
      return withDecision(await this.#invoke(call, decision?.arguments), token, decision)
    }
    const queue = todo.values()
    let stopped: unknown
    const runCall = async (call: ToolCallPart): Promise<void> => {
      const began = clock.now()
      const result = await resultOf(call)
      results.set(call.id, result)
      const receipt = this.#sent && { sent: this.#sent, usage: response.usage }
      const ahead =
        results.size === calls.length ? { delta: announceResults(inOrder()), ...present({ receipt }) } : undefined
      await this.#emit({ type: 'tool_result', step, result, milliseconds: clock.now() - began }, undefined, ahead)
    }
    // Workers share one queue. If one fails (a handler refused), the others finish their current call.
    const worker = async (): Promise<void> => {
      for (const call of queue) {
        if (stopped !== undefined || this.#control.isPaused) return
        await runCall(call).catch((error: unknown) => (stopped ??= error))
      }
    }
    const alone = todo.some(({ name }) => tools.get(name)?.alone === true)
    await Promise.all(Array.from({ length: alone ? 1 : Math.min(toolConcurrency, todo.length) }, worker))
    if (stopped !== undefined) throw stopped
    const unstarted = todo.filter(({ id }) => !results.has(id))
    this.#toolCalls += todo.length - unstarted.length
    if (waiting.size + unstarted.length > 0 && !signal.aborted) {
      const { started = [] } = this.#open ?? {}
      const left = [...waiting].map((call): WaitingCall =>
        Object.freeze({
          ...call,
          approval: this.#tokenOf(call),
          needs: isRunElsewhere(call, tools) ? 'result' : 'approval',
        }),
      )
      this.#open = Object.freeze({
        step: this.#deltaId,
        viewDigest: viewDigestOf(this.#work.view()),
        response,
        results: inOrder(),
        calls: Object.freeze(left),
        started: Object.freeze(started.filter((id) => left.some((call) => call.id === id))),
      })
      if (unstarted.length > 0) return 'paused'
      await this.#emit({ type: 'approval', step, open: this.#open })
      return 'approval'
    }
    for (const call of [...waiting, ...unstarted]) results.set(call.id, this.#notRun(call, reasonOf(signal.reason)))
    return inOrder()
  }

  /** @param changed the arguments of the approval, in place of the model's */
  async #invoke(made: ToolCallPart, changed: JsonObject | undefined): Promise<ToolResultPart> {
    const call = changed === undefined ? made : Object.freeze({ ...made, arguments: JSON.stringify(changed) })
    const { tools, clock, calls } = this.#options
    const record: Parameters<typeof invokeRecorded>[4] =
      calls && ((signal, summarize, body) => calls.record(this.#deltaId, call, signal, summarize, body))
    const result = await invokeRecorded(call, tools, this.#control.signal, clock, record)
    if (changed === undefined) return result
    return snapshot({ ...result, meta: { ...result.meta, indelible: { arguments: changed } } })
  }

  /** Whether a dead run had started the call, so that it may have had side effects. */
  #wasStarted({ id }: ToolCallPart): boolean {
    return this.#open?.started?.includes(id) === true
  }

  #notRun(call: ToolCallPart, reason: string): ToolResultPart {
    return errorResult(call, this.#wasStarted(call) ? notRunAgainText(reason) : notRunText(reason))
  }

  /** Decisions are about the calls of an open step only. */
  #decisionOn(token: string): Decision | undefined {
    return this.#open && this.#decisions?.get(token)
  }

  #tokenOf(call: ToolCallPart): string {
    const known = this.#open?.calls.find(({ id }) => id === call.id)
    return known?.approval ?? approvalOf(this.#open?.step ?? this.#deltaId, call)
  }

  /** Whether a call waits for approval: its tool requires it or a dead run had started it, and there is no decision. */
  async #waits(call: ToolCallPart): Promise<boolean> {
    const { tools } = this.#options
    const { id } = call
    const decision = this.#decisionOn(this.#tokenOf(call))
    if (decision !== undefined) return decision.type === 'approved' && isRunElsewhere(call, tools)
    if (this.#open?.calls.some((waiting) => waiting.id === id) === true) return true
    return waitsForApproval(call, tools, this.#control.signal)
  }

  /** Ends an interrupted answer: emits the event, and records what is kept, with results for its calls. */
  async #endCutAnswer(cut: Interrupt, partial: PartialAnswer): Promise<StopReason | undefined> {
    const messages = this.#orInvalid(this.#cutMessages(partial, cut.behavior, cut.reason))
    return this.#endCut(cut, messages, partial.text, this.#sent)
  }

  /** Emits the event of a signal, and records what is kept. */
  async #endCut(
    cut: Interrupt,
    messages: readonly Message[],
    partialText = '',
    sent?: SentRequest,
  ): Promise<StopReason | undefined> {
    const delta = this.#deltaOf(messages, cut.message)
    this.#unrecorded = () => ({ delta })
    await this.#emitInterrupt(cut, partialText, sent)
    await this.#record(delta)
    return cut.stop
  }

  async #emitInterrupt(cut: Interrupt, partialText: string, sent?: SentRequest): Promise<void> {
    this.#interrupts += 1
    await this.#emit({
      type: 'interrupted',
      step: this.#step,
      partialText,
      behavior: cut.behavior,
      ...(sent && { sent }),
    })
  }

  get #deltaId(): string {
    return this.#open?.step ?? `${this.#options.id}:${this.#deltas}`
  }

  #deltaOf(messages: readonly Message[], injected?: Message): HistoryDelta<Message> {
    const append = Object.freeze(injected === undefined ? [...messages] : [...messages, injected])
    return Object.freeze({ id: this.#deltaId, expectedLen: this.#work.len, append })
  }

  /** Emits a delta and adds it to the working copy. Does nothing for an empty one. */
  async #record(delta: HistoryDelta<Message>, unfinished = false): Promise<void> {
    this.#unrecorded = undefined
    if (delta.append.length === 0) return
    if (delta.id === `${this.#options.id}:${this.#deltas}`) this.#deltas += 1 // unless another run's step
    this.#open = undefined
    const add = (): void => {
      for (const message of delta.append) this.#work.append(message as Message)
    }
    await this.#emit({ type: 'history_delta', step: this.#step, ...delta }, add, unfinished ? { unfinished } : {})
  }

  /** Records the finished work of a step that a fault ended. The first fault is the one to report. */
  async #recordRest(): Promise<void> {
    const rest = this.#unrecorded?.()
    if (rest !== undefined) await this.#record(rest.delta, rest.unfinished).catch(() => undefined)
  }

  /**
   * Emits an event. Handlers come first, so that a delta is durable before a reader sees it: in order until one refuses the
   * event, and all of them for a delta.
   */
  async #emit(event: EventWithoutSeq, done?: () => void, ahead: Partial<LookAhead> = {}): Promise<void> {
    const numbered = Object.freeze({ seq: this.#seq++, ...event }) as RunEvent
    const known = Object.freeze({ id: this.#deltaId, together: this.#together, events: none, ...ahead })
    let refusal: RunFault | undefined
    for (const handler of this.#handlers) {
      const refused = await askHandler(() => handler(numbered, known), this.#within)
      if (refused !== undefined)
        refusal ??= { _tag: 'HandlerFailed', step: this.#step, event: event.type, cause: refused.cause }
      if (refusal !== undefined && event.type !== 'history_delta') break
    }
    done?.()
    if (refusal !== undefined && event.type === 'history_delta') throw new RunEnded(refusal)
    await this.#channel.push(numbered, event.type === 'model_event')
    if (refusal !== undefined) throw new RunEnded(refusal)
  }

  #result(stopReason: StopReason): RunResult {
    return Object.freeze({
      response: this.#steps.at(-1)?.response.message,
      steps: Object.freeze([...this.#steps]),
      counts: Object.freeze({ steps: this.#steps.length, toolCalls: this.#toolCalls, interrupts: this.#interrupts }),
      ...this.#spent,
      stopReason,
      messages: this.#work.view().toArray(),
      viewLength: this.#viewLength,
      ...((stopReason === 'approval' || stopReason === 'paused') && this.#open && { open: this.#open }),
    })
  }
}

/** Whether a tool has no function here: approving its call does not run it. */
const isRunElsewhere = ({ name }: ToolCallPart, tools: ReadonlyMap<string, Tool>): boolean => {
  const found = tools.get(name)
  return found !== undefined && found.run === undefined
}

const none: readonly ModelEvent[] = Object.freeze([])

/** The messages at a record's end that are part of one answer; undefined if there are none. */
const continuedAnswer = (view: Sequence<Message>): readonly Message[] | undefined => {
  const answer: Message[] = []
  for (let index = view.length - 1; index >= 0; index--) {
    const message = view.at(index) as Message
    if (message.role !== 'assistant' && message.role !== 'tool') break
    answer.unshift(message)
  }
  return answer.length === 0 ? undefined : Object.freeze(answer)
}

const isCutAnswer = (message: Message | undefined): boolean => message?.role === 'assistant' && isCut(message)

/** Resolves after the run is cut, one turn of the event loop later, so that a simultaneous answer wins. */
const untilCut = (signal: AbortSignal): Promise<'cut'> =>
  rejectOnAbort(signal).catch(() => new Promise<'cut'>((resolve) => void setTimeout(() => resolve('cut'), 0)))

/** A delta that handlers know before it is emitted, and the interrupt whose message it includes. */
interface AnnouncedDelta {
  readonly delta: HistoryDelta<Message>
  readonly cut: Interrupt | undefined
}

/** The problem that prevents a run from starting. */
const startFaultOf = (cause: unknown): RunFault =>
  isBusy(cause) ? cause : { _tag: 'HandlerFailed', step: 0, event: 'begin', cause }

const isBusy = (cause: unknown): cause is Extract<SessionFault, { readonly _tag: 'SessionBusy' }> =>
  typeof cause === 'object' && cause !== null && (cause as { readonly _tag?: unknown })._tag === 'SessionBusy'
