/**
 * A chat as a durable workflow. Messages arrive as signals; each starts a turn of the model and its
 * tools. Approvals and stops can arrive in between. At a measured size the workflow continues as new.
 *
 * Plain functions: no clock, no randomness, and no I/O except the activities, so any engine can host and replay it.
 */
import { optionsOf, present, type OptionNames } from 'indelible/internal/json'
import { createRefHistory, type MessageRef, type RefHistory, type RefHistoryJson } from '../refs/index.ts'
import { chatStep, type StepActivities } from './chat-step.ts'
import type { HistoryActivities, StreamInput } from './input.ts'

/** A signal to a running chat. */
export type ChatSignal =
  /** A stored message: the ref from `appendMessage`. It starts a turn, or waits in the running turn's inbox. */
  (
    | { readonly type: 'message'; readonly ref: MessageRef }
    /** Whether a call may run. If it may not, the model reads `reason`. */
    | {
        readonly type: 'approval'
        readonly callId: string
        readonly allowed: boolean
        readonly reason?: string
        /**
         * The turn of the call, from `status`; in another turn the approval changes nothing. Default: the running turn.
         */
        readonly turn?: number
      }
    /** End the running turn. Calls without a result get one that says so. */
    | { readonly type: 'stop' }
    /** End the workflow once every message is answered. */
    | { readonly type: 'end' }
  ) & {
    /**
     * The id of the signal, chosen by its sender. A signal whose id was received before, also by the previous run,
     * is a duplicate and changes nothing. The last 100 ids are remembered. Default: none; each delivery counts.
     */
    readonly id?: string
  }

/** A tool call without its arguments, which are content. */
interface ChatCall {
  /** Its id. */
  readonly id: string
  /** The tool. */
  readonly name: string
}

/** A chat's state for a query, without content. */
export interface ChatStatus {
  /** The current activity. */
  readonly phase: 'idle' | 'model' | 'approval' | 'tools'
  /** The number of turns begun. */
  readonly turn: number
  /** The number of messages in the history. */
  readonly len: number
  /** The number of messages that wait for the end of a step. */
  readonly inbox: number
  /** The calls that wait for approval. */
  readonly waiting: readonly ChatCall[]
  /** The approximate bytes of activity inputs and results since the workflow began or continued. */
  readonly bytes: number
  /** The number of activity calls since then. */
  readonly calls: number
  /** Why the last turn failed, if it failed and the host let the chat continue. */
  readonly failure?: string
}

/**
 * A chat between two turns as JSON, to pass to continue-as-new: 0.3 kB, about 100 bytes for each waiting message and 67
 * more for each further block of it, and the last signal ids.
 */
export interface ChatState {
  /** The history, as a reference to its tree. */
  readonly history: RefHistoryJson
  /** The number of turns begun. Action ids continue from it. */
  readonly turn: number
  /** The run id in action ids. */
  readonly run?: string
  /** The number of messages that the model has seen or written. Default: all of them. */
  readonly seen?: number
  /** The ids of the last signals. */
  readonly signals?: readonly string[]
  /** The chat ends once the waiting messages are answered. */
  readonly ended?: true
}

/** Why a run returned. */
export type ChatEnd =
  /** It received an `end` signal. */
  | { readonly type: 'ended'; readonly state: ChatState }
  /** It is large: start a new run with this state. */
  | { readonly type: 'continue'; readonly state: ChatState }

/** The functions of the engine that a chat uses. */
export interface ChatHost {
  /**
   * The activities, as the workflow calls them. After a cancellation most engines run activities
   * only in a separate scope: wrap `endStream` in one.
   */
  readonly activities: StepActivities & Pick<HistoryActivities, 'runTool'>
  /**
   * Resolves when `ready()` is true, or earlier; then the condition is checked again. A polling
   * engine fetches its next message here.
   *
   * @param ready whether there is something to do
   */
  readonly wait: (ready: () => boolean) => Promise<void>
  /** Deliver the signals that have arrived, without waiting. Default: they are delivered as they arrive. */
  readonly poll?: () => Promise<void>
  /**
   * Wrap work so that `stop` can cancel it. Default: a stop waits for the running activity.
   *
   * @returns its result, and a function that cancels it
   */
  readonly cancellable?: <T>(work: () => Promise<T>) => {
    /** Resolves with the result of the work. */
    readonly result: Promise<T>
    readonly cancel: () => void
  }
  /**
   * The text to show for a failed step, after which the chat continues with the next message.
   * Default: the workflow ends with the error.
   *
   * @returns the text to show; undefined ends the workflow with the error
   */
  readonly failure?: (error: unknown) => string | undefined
}

/** The options of a chat. */
export interface ChatOptions extends Pick<StreamInput, 'model' | 'tools' | 'parameters' | 'limit'> {
  /** The prefix of action ids: the id of the workflow, not of its run. */
  readonly id: string
  /**
   * Distinguishes this chat from an earlier one with the same id: the id of its first run
   * (`firstExecutionRunId` in Temporal). It follows `id` in action ids, and is kept by
   * continue-as-new. Default: none, for engines that never reuse an id.
   */
  readonly run?: string
  /** Default: `default`, the store's own default. */
  readonly scope?: string
  /** The state from the previous run. Default: an empty chat. */
  readonly state?: ChatState
  /**
   * Whether a call needs approval. Must be deterministic. Default: none does.
   *
   * @returns whether it must be approved
   */
  readonly needsApproval?: (call: ChatCall) => boolean
  /** The most model calls in one turn. Default: 50. */
  readonly maxSteps?: number
  /**
   * When to continue as new, between two turns, even while a message waits: after this many bytes
   * of activity inputs and results, or activity calls. Default: 25 MB and 8,000 calls, half of
   * Temporal's limits of 50 MB and 51,200 events at three events a call.
   */
  readonly continueAt?: { readonly bytes?: number; readonly calls?: number }
}

/** A running chat: its signals and its status. */
export interface Chat {
  /** Deliver a signal, at any time: from a signal handler, or from `wait` and `poll`. */
  readonly signal: (signal: ChatSignal) => void
  /** The state for a query. */
  readonly status: () => ChatStatus
  /** The chat's history of refs. */
  readonly history: RefHistory
  /**
   * Run until an `end` signal, or until it should continue as new. Throws a step's error, unless the host continues.
   */
  readonly run: (host: ChatHost) => Promise<ChatEnd>
}

/**
 * Create a chat, for a workflow function to signal, query and run.
 *
 * Throws  TypeError if the state is invalid, or an option is unknown
 *
 * @param options the model, its tools, and the id of the workflow
 * @example
 * const chat = createChat({ id: workflowId, model: { name: 'claude-opus-5' }, ...(state && { state }) })
 * setHandler(chatSignal, chat.signal)
 * setHandler(chatStatus, chat.status)
 * const end = await chat.run({ activities, wait: (ready) => condition(ready) })
 */
export const createChat = (init: ChatOptions): Chat => {
  const options = optionsOf('createChat', init, optionNames)
  const { id, scope, state, model, tools, parameters, limit, needsApproval = () => false, maxSteps = 50 } = options
  const { bytes: mostBytes = 25_000_000, calls: mostCalls = 8000 } = options.continueAt ?? {}
  const history = state === undefined ? createRefHistory(scope === undefined ? {} : { scope }) : historyOf(state)
  const approvals = new Map<string, { readonly allowed: boolean; readonly reason?: string }>()
  let phase: ChatStatus['phase'] = 'idle'
  let turn = state?.turn ?? 0
  /** The number of messages that the model has seen or written. Messages after them start a turn. */
  let seen = state?.seen ?? history.len
  const origin = state === undefined ? options.run : state.run
  const actions = origin === undefined ? id : `${id}/${origin}`
  const received = new Set(state?.signals)
  let [bytes, calls] = [0, 0]
  let waiting: readonly ChatCall[] = []
  let [stopped, ended] = [false, state?.ended === true]
  let cancel: (() => void) | undefined
  let failure: string | undefined

  /** Whether a signal id is new. The oldest ids are dropped. */
  const isNew = (signalId: string | undefined): boolean => {
    if (signalId === undefined) return true
    if (received.has(signalId)) return false
    received.add(signalId)
    for (const oldest of received) if (received.size > mostSignals) received.delete(oldest)
    return true
  }

  const signal = (signal: ChatSignal): void => {
    if (!isNew(signal.id)) return
    switch (signal.type) {
      case 'message':
        history.receive(signal.ref)
        return
      case 'approval':
        if (signal.turn === undefined || signal.turn === turn) approvals.set(signal.callId, signal)
        return
      case 'stop':
        if (phase === 'idle') return
        stopped = true
        cancel?.()
        return
      case 'end':
        ended = true
    }
  }

  const run = async (host: ChatHost): Promise<ChatEnd> => {
    const counted = countActivities(host.activities)
    const cancellable = async <T>(work: () => Promise<T>): Promise<T> => {
      if (host.cancellable === undefined) return work()
      const scoped = host.cancellable(work)
      cancel = scoped.cancel
      try {
        return await scoped.result
      } finally {
        cancel = undefined
      }
    }
    for (;;) {
      await host.poll?.()
      const isWaiting = history.len > seen
      if (ended && !isWaiting) return { type: 'ended', state: currentState() }
      if (bytes >= mostBytes || calls >= mostCalls) return { type: 'continue', state: currentState() }
      if (isWaiting) {
        await runTurn(host, counted, cancellable)
        continue
      }
      await host.wait(() => ended || history.len > seen)
    }
  }

  const currentState = (): ChatState => ({
    history: history.toReference(),
    turn,
    ...(origin !== undefined && { run: origin }),
    ...(history.len > seen && { seen }),
    ...(received.size > 0 && { signals: [...received] }),
    ...(ended && history.len > seen && { ended: true as const }),
  })

  type Cancellable = <T>(work: () => Promise<T>) => Promise<T>

  /** One turn: the model and its tools, until it makes no more calls, fails or is stopped. */
  const runTurn = async (
    host: ChatHost,
    activities: ChatHost['activities'],
    cancellable: Cancellable,
  ): Promise<void> => {
    turn += 1
    failure = undefined
    stopped = false
    try {
      for (let step = 1; step <= maxSteps; step++) {
        phase = 'model'
        // If the step fails, the model has seen exactly these messages.
        seen = history.len
        const answered = await cancellable(() =>
          chatStep(activities, history, {
            action: `${actions}/${turn}.${step}`,
            model,
            tree: true,
            ...present({ tools, parameters, limit }),
          }),
        )
        seen = answered.position === undefined ? answered.seen : answered.position + 1
        if (answered.calls.length === 0) return
        await host.poll?.()
        await callAll(host, activities, cancellable, answered.calls, `${actions}/${turn}.${step}`)
        seen = history.len // results don't start a turn
        await host.poll?.()
        if (stopped) return
        history.release()
      }
    } catch (error) {
      if (stopped && canCancel(host)) return
      if (error instanceof EndingError) throw error.cause
      failure = host.failure?.(error)
      if (failure === undefined) throw error
    } finally {
      history.release()
      approvals.clear()
      waiting = []
      phase = 'idle'
      stopped = false
    }
  }

  /** Whether a stop can cancel an activity. Without `cancellable` every error is a failure, stopped or not. */
  const canCancel = (host: ChatHost): boolean => host.cancellable !== undefined

  /** Run the calls of an answer in parallel, and append their results in call order. */
  const callAll = async (
    host: ChatHost,
    activities: ChatHost['activities'],
    cancellable: Cancellable,
    made: readonly ChatCall[],
    step: string,
  ): Promise<void> => {
    const gated = made.filter((call) => needsApproval(call))
    const undecidedCalls = (): readonly ChatCall[] => gated.filter((call) => !approvals.has(call.id))
    const isDecided = (): boolean => stopped || undecidedCalls().length === 0
    while (!isDecided()) {
      phase = 'approval'
      waiting = undecidedCalls()
      await host.wait(() => isDecided() || undecidedCalls().length < waiting.length)
    }
    waiting = []
    phase = 'tools'
    const reference = history.toReference()
    const runOne = (call: ChatCall, refused: string | undefined, suffix = ''): Promise<MessageRef> =>
      activities
        .runTool({
          action: `${step}/${call.id}${suffix}`,
          history: reference,
          call: { id: call.id, name: call.name },
          ...(refused !== undefined && { refused }),
        })
        .then(({ ref }) => ref)
    const refusalOf = (call: ChatCall): string | undefined => {
      const approval = approvals.get(call.id)
      if (stopped) return stopText
      if (!gated.includes(call) || approval?.allowed === true) return undefined
      return approval?.reason ?? 'The user did not allow this call.'
    }
    const outcomes: (MessageRef | { readonly error: unknown })[] = await cancellable(() =>
      Promise.all(made.map((call) => runOne(call, refusalOf(call)).catch((error: unknown) => ({ error })))),
    )
    for (const [index, call] of made.entries()) {
      const outcome = outcomes[index] as MessageRef | { readonly error: unknown }
      if (!('error' in outcome)) history.append(outcome)
      else if (stopped) history.append(await runOne(call, stopText, '/stopped'))
      else {
        // A tool whose activity failed permanently has no result. The record stays settled, and the model reads why.
        const reason = host.failure?.(outcome.error)
        if (reason === undefined) throw new EndingError(outcome.error)
        history.append(await runOne(call, `The tool could not be run: ${reason}`, '/failed'))
      }
    }
  }

  const countActivities = (activities: ChatHost['activities']): ChatHost['activities'] => {
    const countActivity =
      <Input, Output>(activity: (input: Input) => Promise<Output>) =>
      async (input: Input): Promise<Output> => {
        calls += 1
        bytes += JSON.stringify(input).length
        const output = await activity(input)
        bytes += JSON.stringify(output ?? null).length
        return output
      }
    return {
      stream: countActivity(activities.stream),
      runTool: countActivity(activities.runTool),
      ...(activities.endStream !== undefined && { endStream: countActivity(activities.endStream) }),
      ...(activities.keepRefs !== undefined && { keepRefs: countActivity(activities.keepRefs) }),
    }
  }

  const status = (): ChatStatus => ({
    phase,
    turn,
    len: history.len,
    inbox: history.inbox.length,
    waiting,
    bytes,
    calls,
    ...(failure !== undefined && { failure }),
  })
  return Object.freeze({ signal, status, history, run })
}

/** A tool's error for which the host has no text, so that it is not asked again. */
class EndingError {
  readonly cause: unknown

  constructor(cause: unknown) {
    this.cause = cause
  }
}

/** The number of signal ids remembered. */
const mostSignals = 100

const stopText = 'The user stopped the turn before this call had a result.'

/** Not `parseHistoryJson`: it knows every format, and a workflow's bundle should stay small. */
const historyOf = ({ history }: ChatState): RefHistory => {
  const { type, version, scope, session, tree, refs } = history
  if (type !== 'indelible.refs' || version > 3)
    throw new TypeError('state.history should be the JSON of a reference history')
  return createRefHistory({ scope, session, tree, from: refs })
}

const optionNames: OptionNames<ChatOptions> = {
  id: true,
  run: true,
  scope: true,
  state: true,
  needsApproval: true,
  maxSteps: true,
  continueAt: true,
  model: true,
  tools: true,
  parameters: true,
  limit: true,
}
