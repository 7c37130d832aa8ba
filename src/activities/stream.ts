/** Streaming: a model is called on a history, what it says is told, and the answer is stored. */
import { isLeft, right, type Either } from 'fp-ts/lib/Either.js'
import { deriveContext, manageHistory, type ContextFault, type DerivedContext } from '../context/index.ts'
import { digestOf } from '../digest/index.ts'
import type { View } from '../history/index.ts'
import type { JsonObject } from '../json/index.ts'
import { settle, toolCallsOf, type Message } from '../message/index.ts'
import { modelFor, run, type Model, type ModelContext, type ModelResponse, type RunEvent, type Tool, type ToolDefinition } from '../run/index.ts'
import type { StoreFault } from '../store/index.ts'
import type { Known } from './actions.ts'
import { Failed, given, jsonOf, knownOf, stored, type Host, type Invocation, type Opened } from './host.ts'
import type { StreamEvent } from './event.ts'
import { ActivityFailure, isRetryable } from './failure.ts'
import type { ContextLimit, StreamInput, StreamResult } from './input.ts'

export const streamWith = async (host: Host, input: StreamInput): Promise<StreamResult> => {
  const stream = new Stream(host, input)
  const beat = setInterval(() => stream.beat(), host.heartbeatEvery ?? 5000)
  try {
    stream.beat()
    return await stream.toEnd()
  } finally {
    clearInterval(beat)
  }
}

/** What is told beside who tells it. */
type Untold = StreamEvent extends infer Event ? (Event extends StreamEvent ? Omit<Event, 'action' | 'attempt' | 'seq'> : never) : never
type End = Extract<Untold, { readonly type: 'stream_end' }>

class Stream {
  readonly #host: Host
  readonly #input: StreamInput
  readonly #invocation: Invocation
  readonly #attempt: number
  #opened: Opened | undefined
  /** The digest of the input. */
  #digest = ''
  /** What was noted of the answer. */
  #noted: Known | undefined
  #seq = 0
  #events = 0
  #unpublished = 0

  constructor(host: Host, input: StreamInput) {
    this.#host = host
    this.#input = input
    this.#invocation = host.invocation?.() ?? {}
    this.#attempt = this.#invocation.attempt ?? 1
  }

  beat(): void {
    try {
      this.#host.heartbeat?.({ action: this.#input.action, attempt: this.#attempt, events: this.#events })
    } catch (cause) {
      this.#host.onFailure?.({ _tag: 'Unpublished', action: this.#input.action, event: 'heartbeat', cause })
    }
  }

  async toEnd(): Promise<StreamResult> {
    let result: StreamResult
    try {
      result = await this.#answer()
    } catch (error) {
      await this.#fail(error)
      throw error
    }
    await this.#end({ type: 'stream_end', outcome: 'answered', ...(result.ref !== undefined && { ref: result.ref }) })
    return result
  }

  /** A failure ends the stream, unless it is tried again. Whatever becomes of telling it, the failure is what is thrown. */
  async #fail(error: unknown): Promise<void> {
    const { last = true, signal } = this.#invocation
    if (error instanceof Failed && error.fault._tag === 'OtherAction') return // the action of that name has an end of its own
    const cancelled = signal?.aborted === true && error === signal.reason
    if (error instanceof Failed && !last && isRetryable(error.fault)) return
    try {
      await this.#end(cancelled ? { type: 'stream_end', outcome: 'cancelled' } : { type: 'stream_end', outcome: 'failed', reason: reasonFor(error) })
    } catch (second) {
      if (!(second instanceof Failed)) throw second
      this.#host.onFailure?.(second.fault)
    }
  }

  async #answer(): Promise<StreamResult> {
    const { action, history, model: wanted, limit, tools = [], parameters = {} } = this.#input
    const { signal } = this.#invocation
    const refs = this.#host.read(history)
    const opened = this.#host.open(refs.scope)
    this.#opened = opened
    this.#digest = digestOf(JSON.stringify(['stream', refs, wanted, limit ?? null, tools, parameters]))
    const known = await knownOf(opened.actions, action, this.#digest)
    if (known?.result !== undefined) return known.result as unknown as StreamResult // as it was noted here
    const view = (await this.#host.hydrated({ history: refs })).view()
    const model = given(modelFor(wanted, this.#host.registry))
    const context = contextOf(view, limit, this.#host)
    signal?.throwIfAborted()
    await this.#tell({ type: 'stream_start', model: model.name })
    const response = await this.#ask(model, context, tools.map(toolOf), parameters)

    const { message, reason, usage, model: named } = response
    const ref = message.content.length === 0 ? undefined : await stored(opened.blocks, message)
    const answered = new Set(message.content.flatMap((part) => (part.type === 'tool_result' ? [part.callId] : [])))
    const calls = toolCallsOf(message).flatMap(({ id, name }) => (answered.has(id) ? [] : [{ id, name }]))
    const result = { ...(ref !== undefined && { ref }), reason, usage, calls, ...(named !== undefined && { model: named }), ...(this.#unpublished > 0 && { unpublished: this.#unpublished }) }
    this.#noted = given(await opened.actions.note(action, { input: this.#digest, result: jsonOf(result), ended: false }))
    return this.#noted.result as unknown as StreamResult // this one, or what another attempt has noted before
  }

  /** One answer of the model, by the loop of `indelible/run`: with its checks, and no tool run. */
  async #ask(model: Model, context: ModelContext, tools: readonly Tool[], parameters: JsonObject): Promise<ModelResponse> {
    const { signal } = this.#invocation
    const outcome = await run({
      model,
      view: context.messages,
      context: () => right(context),
      tools,
      parameters,
      limits: { maxSteps: 1, maxToolCalls: 0 },
      id: this.#input.action,
      handlers: [(event) => this.#onEvent(event)],
      ...(signal !== undefined && { signal }),
    }).result()
    if (isLeft(outcome)) throw new Failed(outcome.left)
    signal?.throwIfAborted()
    const [step] = outcome.right.steps
    if (step === undefined) throw new Failed({ _tag: 'StreamEndedEarly', model: model.name, step: 0, partialText: '', partial: outcome.right })
    return step.response
  }

  async #onEvent(told: RunEvent): Promise<void> {
    if (told.type !== 'model_event') return
    const { event } = told
    this.#events += 1
    this.beat()
    if (event.type !== 'finish') await this.#tell({ type: 'model_event', event })
  }

  /** A sink that fails holds no answer up. */
  async #tell(event: Untold): Promise<void> {
    try {
      await this.#publish(event)
    } catch (cause) {
      this.#unpublished += 1
      this.#host.onFailure?.({ _tag: 'Unpublished', action: this.#input.action, event: event.type, cause })
    }
  }

  async #publish(event: Untold): Promise<void> {
    const { action } = this.#input
    await this.#host.events?.publish(Object.freeze({ action, attempt: this.#attempt, seq: this.#seq++, ...event }) as StreamEvent)
  }

  /**
   * The one end. It is told before it is noted: of a crash between the two comes another, and never none. So it is told
   * also where the store does not say whether it was, or does not take the note.
   */
  async #end(end: End): Promise<void> {
    const { action } = this.#input
    const actions = this.#opened?.actions
    const known = this.#noted ?? (await this.#ifAnswered(actions?.find(action)))
    if (known?.ended === true) return
    try {
      await this.#publish(end)
    } catch (cause) {
      throw new Failed({ _tag: 'Unpublished', action, event: end.type, cause })
    }
    await this.#ifAnswered(actions?.note(action, { input: this.#digest, ended: true }))
  }

  async #ifAnswered(asked: Promise<Either<StoreFault, Known | undefined>> | undefined): Promise<Known | undefined> {
    const answer = await asked
    if (answer === undefined || !isLeft(answer)) return answer?.right
    this.#host.onFailure?.(answer.left)
    return undefined
  }
}

/** What is sent, and how much of it was sent before: all that the last answer was an answer to. */
const contextOf = (view: View<Message>, limit: ContextLimit | undefined, host: Host): ModelContext => {
  let answer = view.length - 1
  while (answer > 0 && view.at(answer)?.role !== 'assistant') answer -= 1
  if (limit === undefined) return { messages: given(settle(view)), stablePrefix: Math.max(0, answer) }
  const derive = (of: View<Message>, previous: DerivedContext | undefined): Either<ContextFault, DerivedContext> =>
    'budget' in limit ? deriveContext(of, { ...host.derive, budget: limit.budget, previous }) : right(manageHistory(of, { ...limit, previous }))
  const before = answer > 0 ? derive(view.slice(0, answer), undefined) : undefined
  return given(derive(view, before === undefined || isLeft(before) ? undefined : before.right))
}

/** A definition as a tool of the loop, which has no step in which it could be run. */
const toolOf = (definition: ToolDefinition): Tool => ({
  ...definition,
  schema: undefined,
  timeout: undefined,
  alone: false,
  run: () => {
    throw new Error('no tool is run here')
  },
})

/** What those who look on are told of a failure. */
const reasonFor = (error: unknown): string => {
  if (!(error instanceof Failed)) return error instanceof Error ? error.message : String(error)
  const { fault } = error
  return 'reason' in fault ? fault.reason : new ActivityFailure(fault).message
}
