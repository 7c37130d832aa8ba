/** Calls a model on a history, publishes its events, and stores the answer. */
import { hasField, isLeft, right } from 'indelible/internal/json'
import { digestOf } from 'indelible/internal/proof'
import { toolCallsOf } from 'indelible/message'
import { growRefTree } from '../refs/index.ts'
import { modelFor, run, type Model, type RunEvent, type RunStep, type Tool, type ToolDefinition } from 'indelible/run'
import { answerAction, beginAction, type KnownAction } from './actions.ts'
import { checkAction, checkStream } from './check.ts'
import { contextOf, type SentContext } from './context.ts'
import { ActionEnd } from './action-end.ts'
import type { UnattributedEvent } from './event.ts'
import { ActivityCancelled, ActivityFailed, faultOf, rightOrFail } from './activity-errors.ts'
import { jsonOf, storeMessage, type Host, type Invocation, type OpenedScope, type ReadHistory } from './host.ts'
import type { StreamInput, StreamResult } from './input.ts'
import { readHistory } from './readable.ts'
import { publish, SinkTimeout } from './sink.ts'

/** The streams running in this process, by scope and action. */
export type Streams = Map<string, Stream>

export const streamKey = (scope: string, action: string): string => JSON.stringify([scope, action])

/** Throws ActivityFailed, ActivityCancelled, or the error of a function of the host. */
export const runStream = async (host: Host, streams: Streams, input: StreamInput): Promise<StreamResult> => {
  checkAction(input.action)
  const { invocation, read } = await readCall(host, input)
  const key = hasField(read, 'refs') ? streamKey(read.refs.scope, input.action) : ''
  const running = streams.get(key)
  const same = hasField(read, 'refs') && running?.digest === read.digest
  const joins = same && (invocation.attempt ?? 1) <= running.engineAttempt // a later attempt does not join: this one may hang
  if (same && !joins) running.supersede()
  const stream = joins ? running : new Stream(host, input, invocation, read)
  if (hasField(read, 'refs') && (same || running === undefined)) streams.set(key, stream)
  const beat = setInterval(() => stream.beat(), host.heartbeatEvery ?? 5000)
  try {
    stream.beat()
    return await orCancelled(stream.result(), joins ? invocation.signal : undefined)
  } finally {
    clearInterval(beat)
    if (!joins && streams.get(key) === stream) streams.delete(key)
  }
}

/** The history of a stream and a digest of its input; or the problem, to be thrown when the stream begins. */
type Read = (ReadHistory & { readonly digest: string }) | { readonly problem: unknown }

/** Reads the engine's description of the call, and the history. */
const readCall = async (
  host: Host,
  input: StreamInput,
): Promise<{ readonly invocation: Invocation; readonly read: Read }> => {
  let invocation: Invocation = {}
  try {
    invocation = host.invocation?.() ?? {}
    checkStream(input)
    const history = await host.read(input.history)
    const { model, limit, tools = [], parameters = {} } = input
    const digest = digestOf(JSON.stringify(['stream', history.refs, model, limit ?? null, tools, parameters]))
    return { invocation, read: { ...history, digest } }
  } catch (problem) {
    return { invocation, read: { problem } }
  }
}

/** One attempt of an action. Several callers may wait for it. */
class Stream {
  readonly #host: Host
  readonly #input: StreamInput
  readonly #invocation: Invocation
  readonly #read: Read
  readonly #superseded = new AbortController()
  #result: Promise<StreamResult> | undefined
  #attempt: number
  #seq = 0
  #events = 0
  #unpublished = 0
  /** Whether the sink timed out. Then only the end is still published. */
  #hangs = false

  constructor(host: Host, input: StreamInput, invocation: Invocation, read: Read) {
    this.#host = host
    this.#input = input
    this.#invocation = invocation
    this.#read = read
    this.#attempt = invocation.attempt ?? 1
  }

  get digest(): string | undefined {
    return hasField(this.#read, 'refs') ? this.#read.digest : undefined
  }

  /** The engine's number of the attempt. */
  get engineAttempt(): number {
    return this.#invocation.attempt ?? 1
  }

  /** Abort: a later attempt has begun, or the action was given up. */
  supersede(): void {
    this.#superseded.abort()
  }

  beat(): void {
    this.#host.beat({ action: this.#input.action, attempt: this.#attempt, events: this.#events })
  }

  result(): Promise<StreamResult> {
    return (this.#result ??= this.#toEnd())
  }

  async #toEnd(): Promise<StreamResult> {
    const { action } = this.#input
    let opened: OpenedScope | undefined
    let result: StreamResult
    try {
      if (hasField(this.#read, 'problem')) throw this.#read.problem
      opened = this.#host.open(this.#read.refs.scope)
      result = await this.#answer(this.#read, opened)
    } catch (error) {
      const cancelled = error instanceof ActivityCancelled
      const fault = cancelled ? undefined : faultOf(error)
      // If the scope is unknown, the end is noted in the store's own.
      const ending = new ActionEnd(this.#host, action, (opened ?? this.#host.open(undefined)).actions)
      await ending.ofFailure(fault, this.#invocation, this.#attempt, () => this.#seq++)
      throw error
    }
    const { actions } = opened
    await new ActionEnd(this.#host, action, actions).ofAnswer(result, this.#attempt, () => this.#seq++)
    return result
  }

  async #answer(
    { refs, tree: before, added, adopted, digest }: Extract<Read, { digest: string }>,
    { actions, blocks }: OpenedScope,
  ): Promise<StreamResult> {
    const { action, model: wanted, tools = [] } = this.#input
    const known = rightOrFail(await actions.note(action, beginAction(action, digest, this.#attempt)))
    if (known.result !== undefined) return resultOf(known)
    this.#attempt = known.attempt
    const { view, lost } = await readHistory(this.#host, blocks, refs)
    const model = rightOrFail(modelFor(wanted, this.#host.registry))
    const sent = contextOf(view, this.#input, this.#host)
    this.#throwIfOver()
    await this.#tell({ type: 'stream_start', model: model.name })
    const callIds = [...view].flatMap((message) => toolCallsOf(message).map(({ id }) => id))
    const { response, calls } = await this.#ask(model, sent, callIds, tools.map(toolOf))

    const { message, reason, usage, model: named } = response
    const ref = message.content.length === 0 ? undefined : await storeMessage(blocks, message)
    const tree = this.#input.tree === true ? rightOrFail(await growRefTree(blocks, before, added)()) : undefined
    const result: StreamResult = {
      ...(ref !== undefined && { ref }),
      reason,
      usage,
      calls: calls.map(({ id, name }) => ({ id, name })),
      ...(named !== undefined && { model: named }),
      ...(sent.overBudget && { overBudget: true }),
      ...(lost > 0 && { lost }),
      ...(this.#unpublished > 0 && { unpublished: this.#unpublished }),
      ...(tree !== undefined && { tree }),
      ...(adopted && { adopted: refs.toJSON() }),
    }
    // This result, or the one that another attempt stored first.
    return resultOf(rightOrFail(await actions.note(action, answerAction(action, digest, jsonOf(result), false))))
  }

  /** One answer of the model, using the loop of `indelible/run` for its checks. It runs no tools. */
  async #ask(model: Model, context: SentContext, callIds: readonly string[], tools: readonly Tool[]): Promise<RunStep> {
    const { action, parameters = {} } = this.#input
    const { signal } = this.#invocation
    const outcome = await run({
      model,
      view: context.messages,
      callIds,
      context: () => right(context),
      tools,
      parameters,
      limits: { maxSteps: 1, maxToolCalls: 0 },
      id: action,
      handlers: [(event) => this.#onEvent(event)],
      signal: signal === undefined ? this.#superseded.signal : AbortSignal.any([signal, this.#superseded.signal]),
    }).result()()
    this.#throwIfOver()
    if (isLeft(outcome)) throw new ActivityFailed(outcome.left)
    const [step] = outcome.right.steps
    if (step === undefined)
      throw new ActivityFailed({
        _tag: 'StreamEndedEarly',
        model: model.name,
        step: 0,
        partialText: '',
        partial: outcome.right,
      })
    return step
  }

  #throwIfOver(): void {
    const { signal } = this.#invocation
    if (signal?.aborted === true) throw new ActivityCancelled(signal.reason)
    if (this.#superseded.signal.aborted) throw new ActivityFailed({ _tag: 'Superseded', action: this.#input.action })
  }

  async #onEvent(runEvent: RunEvent): Promise<void> {
    if (runEvent.type !== 'model_event') return
    const { event } = runEvent
    this.#events += 1
    this.beat()
    if (event.type !== 'finish') await this.#tell({ type: 'model_event', event })
  }

  /** A failing sink does not delay the answer. */
  async #tell(event: UnattributedEvent): Promise<void> {
    const { action } = this.#input
    const seq = this.#seq++
    try {
      if (this.#hangs) this.#unpublished += 1
      else
        await publish(
          this.#host.events,
          { action, attempt: this.#attempt, seq, ...event },
          this.#host.publishWithin,
          this.#invocation.signal,
        )
    } catch (cause) {
      this.#unpublished += 1
      this.#hangs = cause instanceof SinkTimeout
      this.#host.failed({ _tag: 'Unpublished', action, event: event.type, cause })
    }
  }
}

const resultOf = ({ result }: KnownAction): StreamResult => result as unknown as StreamResult

/** Lets a caller that joined a stream be cancelled alone. */
const orCancelled = async <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (signal === undefined) return work
  let onAbort = (): void => {}
  const cancelled = new Promise<never>((_, reject) => {
    onAbort = () => reject(new ActivityCancelled(signal.reason))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([work, cancelled])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** A definition as a tool for the loop, which has no step in which to run it. */
const toolOf = (definition: ToolDefinition): Tool => ({
  ...definition,
  schema: undefined,
  timeout: undefined,
  alone: false,
  run: () => {
    throw new Error('no tool is run here')
  },
})
