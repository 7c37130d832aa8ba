/**
 * A chat as a durable workflow: messages come as signals, each starts a turn of the model and its tools, approvals and stops
 * come in between, and at a size that is measured the workflow continues as new.
 *
 * Plain functions: no clock, no randomness, no I/O but the activities, so any engine can host it and replay it.
 */
import { present } from 'indelible/json/kit'
import { createRefHistory, type MessageRef, type RefHistory, type RefHistoryJson } from '../refs/index.ts'
import { chatStep, type StepActivities } from './chat-step.ts'
import type { HistoryActivities, StreamInput } from './input.ts'

/** What people tell a chat while it runs. */
export type ChatSignal = ChatNews & {
  /**
   * The id of the signal, chosen by its sender. A signal whose id was heard before, also by the run before, is a second
   * delivery and changes nothing. The last 100 ids are known. Default: none; each delivery counts.
   */
  readonly id?: string
}

type ChatNews =
  /** A message that is stored: the ref that `appendMessage` gave. It starts a turn, or waits in the inbox of the one that runs. */
  | { readonly type: 'message'; readonly ref: MessageRef }
  /** Whether a call may run. `reason` is what the model reads if it may not. */
  | {
      readonly type: 'approval'
      readonly callId: string
      readonly allowed: boolean
      readonly reason?: string
      /** The turn of the call, as `status` has it: in another turn the approval changes nothing. Default: the turn that runs. */
      readonly turn?: number
    }
  /** End the turn that is going on. Calls without a result get one that says so. */
  | { readonly type: 'stop' }
  /** End the workflow, once every message has its answer. */
  | { readonly type: 'end' }

/** A call of a tool, without its arguments: those are content. */
export interface ChatCall {
  /** Its id. */
  readonly id: string
  /** The tool. */
  readonly name: string
}

/** A chat's state in a query. It has no content. */
export interface ChatStatus {
  /** What it does now. */
  readonly phase: 'idle' | 'model' | 'approval' | 'tools'
  /** How many turns have begun. */
  readonly turn: number
  /** How many messages the history has. */
  readonly len: number
  /** How many messages wait for the end of a step. */
  readonly inbox: number
  /** The calls that wait for an approval. */
  readonly waiting: readonly ChatCall[]
  /** How many bytes of activity inputs and results the engine has recorded since the workflow began or continued, about. */
  readonly bytes: number
  /** How many activities were called since then. */
  readonly calls: number
  /** Why the last turn failed, if it did and the host let the chat go on. */
  readonly failure?: string
}

/** A chat between two turns as JSON of under 10 kB: what continue-as-new hands on. */
export interface ChatState {
  /** The history, as a reference to its tree. */
  readonly history: RefHistoryJson
  /** How many turns have begun: action ids go on from there. */
  readonly turn: number
  /** The run that action ids begin with. */
  readonly run?: string
  /** How many messages the model has seen or said. Default: all of them. */
  readonly seen?: number
  /** The ids of the last signals. */
  readonly signals?: readonly string[]
  /** The chat ends once the waiting messages are answered. */
  readonly ended?: true
}

/** Why a run came to its end. */
export type ChatEnd =
  /** It was told to end. */
  | { readonly type: 'ended'; readonly state: ChatState }
  /** It is large: start it anew with this state. */
  | { readonly type: 'continue'; readonly state: ChatState }

/** What an engine gives to a chat. */
export interface ChatHost {
  /**
   * The activities, as the workflow calls them. After a cancellation most engines call none but in a scope of its own:
   * wrap `endStream` in that.
   */
  readonly activities: StepActivities & Pick<HistoryActivities, 'runTool'>
  /**
   * Resolves when `ready()` is true, or earlier: it is asked again. An engine that polls takes its next message here.
   *
   * @param ready whether there is something to do
   */
  readonly wait: (ready: () => boolean) => Promise<void>
  /** Hand over the signals that have arrived, and don't wait. Default: they are handed over as they arrive. */
  readonly poll?: () => Promise<void>
  /**
   * Make work that `stop` can cancel. Default: a stop waits for the running activity.
   *
   * @returns its result, and a function that cancels it
   */
  readonly cancellable?: <T>(work: () => Promise<T>) => {
    /** Resolves with the result of the work. */
    readonly result: Promise<T>
    /** Cancel the work. */
    readonly cancel: () => void
  }
  /**
   * What to show of a step that failed, to go on with the next message; undefined ends the workflow with the error.
   * Default: ends.
   *
   * @returns the text to show; undefined ends the workflow with the error
   */
  readonly failure?: (error: unknown) => string | undefined
}

/** The options of a chat. */
export interface ChatOptions extends Pick<StreamInput, 'model' | 'tools' | 'parameters' | 'limit'> {
  /** What action ids begin with: the id of the workflow, not of its run. */
  readonly id: string
  /**
   * What tells this chat from an earlier one under the same id: the id of its first run (`firstExecutionRunId` of Temporal).
   * It goes into action ids behind `id`. Continuing as new hands it on. Default: none, for engines that never use an id twice.
   */
  readonly run?: string
  /** Default: that of the store, `default`. */
  readonly scope?: string
  /** What the run before handed on. Default: an empty chat. */
  readonly state?: ChatState
  /**
   * Which calls need an approval. Deterministic. Default: none.
   *
   * @returns whether it must be approved
   */
  readonly needsApproval?: (call: ChatCall) => boolean
  /** How often the model is called in one turn. Default: 50. */
  readonly maxSteps?: number
  /**
   * When to continue as new, between two turns, also while a message waits: bytes of activity inputs and results, or activity calls. Default: 25 MB and
   * 8,000 calls, half of Temporal's 50 MB and 51,200 events at three events a call.
   */
  readonly continueAt?: { readonly bytes?: number; readonly calls?: number }
}

/** A chat. */
export interface Chat {
  /**
   * Tell it something, at any time: from a signal handler, or from `wait` and `poll`.
   */
  readonly signal: (signal: ChatSignal) => void
  /** A query's result. */
  readonly status: () => ChatStatus
  /** Its history of refs. */
  readonly history: RefHistory
  /**
   * Run until it is told to end, or is to continue as new. Throws what a step throws, unless the host says to go on.
   */
  readonly run: (host: ChatHost) => Promise<ChatEnd>
}

/**
 * A chat, for a workflow function to signal, query and run.
 *
 * Throws  TypeError, if the state is not one
 *
 * @param options the model, its tools, and the id of the workflow
 * @example
 * const chat = createChat({ id: workflowId, model: { name: 'claude-opus-5' }, ...(state && { state }) })
 * setHandler(chatSignal, chat.signal)
 * setHandler(chatStatus, chat.status)
 * const end = await chat.run({ activities, wait: (ready) => condition(ready) })
 */
export const createChat = (options: ChatOptions): Chat => {
  const { id, scope, state, model, tools, parameters, limit, needsApproval = () => false, maxSteps = 50 } = options
  const { bytes: mostBytes = 25_000_000, calls: mostCalls = 8000 } = options.continueAt ?? {}
  const history = state === undefined ? createRefHistory(scope === undefined ? {} : { scope }) : historyOf(state)
  const approvals = new Map<string, { readonly allowed: boolean; readonly reason?: string }>()
  let phase: ChatStatus['phase'] = 'idle'
  let turn = state?.turn ?? 0
  /** How many messages the model has seen or said itself. What stands behind them starts a turn. */
  let seen = state?.seen ?? history.len
  const origin = state === undefined ? options.run : state.run
  const actions = origin === undefined ? id : `${id}/${origin}`
  const heard = new Set(state?.signals)
  let [bytes, calls] = [0, 0]
  let waiting: readonly ChatCall[] = []
  let [stopped, ended] = [false, state?.ended === true]
  let cancel: (() => void) | undefined
  let failure: string | undefined

  /** Whether a signal comes for the first time. The oldest ids are forgotten. */
  const isNew = (signalId: string | undefined): boolean => {
    if (signalId === undefined) return true
    if (heard.has(signalId)) return false
    heard.add(signalId)
    for (const oldest of heard) if (heard.size > mostSignals) heard.delete(oldest)
    return true
  }

  const signal = (told: ChatSignal): void => {
    if (!isNew(told.id)) return
    switch (told.type) {
      case 'message':
        history.receive(told.ref)
        return
      case 'approval':
        if (told.turn === undefined || told.turn === turn) approvals.set(told.callId, told)
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
    const counted = countedOf(host.activities)
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
      if (ended && !isWaiting) return { type: 'ended', state: stateNow() }
      if (bytes >= mostBytes || calls >= mostCalls) return { type: 'continue', state: stateNow() }
      if (isWaiting) {
        await turnOn(host, counted, cancellable)
        continue
      }
      await host.wait(() => ended || history.len > seen)
    }
  }

  const stateNow = (): ChatState => ({
    history: history.toReference(),
    turn,
    ...(origin !== undefined && { run: origin }),
    ...(history.len > seen && { seen }),
    ...(heard.size > 0 && { signals: [...heard] }),
    ...(ended && history.len > seen && { ended: true as const }),
  })

  type Cancellable = <T>(work: () => Promise<T>) => Promise<T>

  /** One turn: the model and its tools, until it calls none, fails or is stopped. */
  const turnOn = async (
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
        // A step that fails has shown the model this, and no more.
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
        seen = history.len // results are the model's own business
        await host.poll?.()
        if (stopped) return
        history.release()
      }
    } catch (error) {
      if (stopped && cancelledBy(host)) return
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

  /** Whether a stop can have cancelled something: without `cancellable` a failure is one, stopped or not. */
  const cancelledBy = (host: ChatHost): boolean => host.cancellable !== undefined

  /** Run the calls of an answer side by side, and append their results in the order of the calls. */
  const callAll = async (
    host: ChatHost,
    activities: ChatHost['activities'],
    cancellable: Cancellable,
    made: readonly ChatCall[],
    step: string,
  ): Promise<void> => {
    const gated = made.filter((call) => needsApproval(call))
    const undecided = (): readonly ChatCall[] => gated.filter((call) => !approvals.has(call.id))
    const decided = (): boolean => stopped || undecided().length === 0
    while (!decided()) {
      phase = 'approval'
      waiting = undecided()
      await host.wait(() => decided() || undecided().length < waiting.length)
    }
    waiting = []
    phase = 'tools'
    const asked = history.toReference()
    const runOne = (call: ChatCall, refused: string | undefined, suffix = ''): Promise<MessageRef> =>
      activities
        .runTool({
          action: `${step}/${call.id}${suffix}`,
          history: asked,
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
      // A tool whose activity failed for good has no result: the record stays settled, and the model reads why.
      else if (host.failure?.(outcome.error) !== undefined)
        history.append(await runOne(call, `The tool could not be run: ${host.failure(outcome.error)}`, '/failed'))
      else throw outcome.error
    }
  }

  const countedOf = (activities: ChatHost['activities']): ChatHost['activities'] => {
    const counting =
      <Input, Output>(activity: (input: Input) => Promise<Output>) =>
      async (input: Input): Promise<Output> => {
        calls += 1
        bytes += JSON.stringify(input).length
        const output = await activity(input)
        bytes += JSON.stringify(output ?? null).length
        return output
      }
    return {
      stream: counting(activities.stream),
      runTool: counting(activities.runTool),
      ...(activities.endStream !== undefined && { endStream: counting(activities.endStream) }),
      ...(activities.keepRefs !== undefined && { keepRefs: counting(activities.keepRefs) }),
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

/** How many ids of signals are known. */
const mostSignals = 100

const stopText = 'The user stopped the turn before this call had a result.'

/** Not by `parseHistoryJson`: that knows every format there is, and a workflow's bundle should not. */
const historyOf = ({ history }: ChatState): RefHistory => {
  const { type, version, scope, session, tree, refs } = history
  if (type !== 'indelible.refs' || version > 2) throw new TypeError('the state of the chat has no history of refs')
  return createRefHistory({ scope, session, tree, from: refs })
}
