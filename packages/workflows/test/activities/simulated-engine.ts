/**
 * A workflow engine in memory, whose every step a test decides: it records what activities gave and which signals came, in
 * one order, and replays that after a crash. Activities run when the test says so, once, twice, or with their answer lost.
 */
import { isDeepStrictEqual } from 'node:util'
import {
  createChat,
  type Chat,
  type ChatEnd,
  type ChatOptions,
  type ChatSignal,
  type HistoryActivities,
} from '@indelible/workflows/activities'

type Named = Pick<HistoryActivities, 'stream' | 'runTool' | 'endStream' | 'keepRefs'>

interface Call {
  readonly name: keyof Named
  readonly input: unknown
}

type Recorded =
  | { readonly type: 'signal'; readonly signal: ChatSignal }
  | { readonly type: 'done'; readonly call: number; readonly value: unknown }
  | { readonly type: 'failed'; readonly call: number; readonly error: unknown }

export class SimulatedEngine {
  /** Everything that happened, in order. A replay is told the same. */
  readonly recorded: Recorded[] = []
  /** Every call that a workflow made, by number: a replay makes the same ones. */
  readonly calls: Call[] = []
  readonly #options: ChatOptions
  readonly #hosted: Named
  readonly #cancels: boolean
  #chat!: Chat
  #pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>()
  #made = 0
  #wakes: (() => void)[] = []
  end: ChatEnd | undefined
  error: unknown

  /** `cancels`: whether a stop cancels the activities that are going on. */
  constructor(options: ChatOptions, hosted: Named, cancels = false) {
    this.#cancels = cancels
    this.#options = options
    this.#hosted = hosted
    this.#begin()
  }

  get chat(): Chat {
    return this.#chat
  }

  /** The calls that wait for their answer. */
  get open(): readonly number[] {
    return [...this.#pending.keys()]
  }

  async signal(signal: ChatSignal): Promise<void> {
    await this.#tell({ type: 'signal', signal })
  }

  /** Run the activity of a call and record what it gave; or lose that. A failure is recorded only if it is permanent. */
  async run(call: number, lost = false): Promise<void> {
    const { name, input } = this.calls[call] as Call
    let recorded: Recorded
    try {
      const value: unknown = await this.#hosted[name](JSON.parse(JSON.stringify(input)) as never)
      recorded = { type: 'done', call, value: JSON.parse(JSON.stringify(value ?? null)) }
    } catch (error) {
      if ((error as { readonly retryable?: boolean }).retryable === true) return // tried again, whenever the test runs it
      recorded = { type: 'failed', call, error }
    }
    if (!lost && this.#pending.has(call)) await this.#tell(recorded)
  }

  /** The workflow's process dies. Another replays what was recorded. */
  async crash(): Promise<void> {
    const before = this.#made
    this.#begin()
    await quiet()
    for (const recorded of this.recorded) {
      this.#apply(recorded)
      await quiet()
    }
    if (this.#made < before) throw new Error('the replay made fewer calls than the run before')
  }

  async #tell(recorded: Recorded): Promise<void> {
    this.recorded.push(recorded)
    this.#apply(recorded)
    await quiet()
  }

  #apply(recorded: Recorded): void {
    if (recorded.type === 'signal') {
      this.#chat.signal(recorded.signal)
      for (const wake of this.#wakes.splice(0)) wake()
      return
    }
    const waiter = this.#pending.get(recorded.call)
    this.#pending.delete(recorded.call)
    if (recorded.type === 'done') waiter?.resolve(recorded.value)
    else waiter?.reject(recorded.error)
  }

  #begin(): void {
    const pending = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>()
    const wakes: (() => void)[] = []
    this.#pending = pending
    this.#wakes = wakes
    this.#made = 0
    const chat = createChat(this.#options)
    this.#chat = chat
    const calling =
      (name: keyof Named) =>
      (input: unknown): Promise<never> => {
        const call = this.#made++
        const made = { name, input: JSON.parse(JSON.stringify(input)) as unknown }
        const known = this.calls[call]
        if (known === undefined) this.calls.push(made)
        else if (!isDeepStrictEqual(known, made))
          throw new Error(`a replay made another call: ${JSON.stringify(made)} in place of ${JSON.stringify(known)}`)
        return new Promise((resolve, reject) =>
          pending.set(call, { resolve: resolve as (value: unknown) => void, reject }),
        )
      }
    const wait = async (ready: () => boolean): Promise<void> => {
      while (!ready()) await new Promise<void>((resolve) => wakes.push(resolve))
    }
    const activities = {
      stream: calling('stream'),
      runTool: calling('runTool'),
      endStream: calling('endStream'),
      keepRefs: calling('keepRefs'),
    }
    /** The workflow waits no longer for what is going on; the activities may go on, and be told of late. */
    const cancel = (): void => {
      for (const [call, { reject }] of pending) {
        if (this.calls[call]?.name === 'endStream') continue
        pending.delete(call)
        reject(new Error('cancelled'))
      }
    }
    void (async () => {
      try {
        const end = await chat.run({
          activities,
          wait,
          failure: (error) => (error as Error).message,
          ...(this.#cancels && { cancellable: (work) => ({ result: work(), cancel }) }),
        })
        if (this.#chat === chat) this.end = end
      } catch (error) {
        if (this.#chat === chat) this.error = error
      }
    })()
  }
}

/** Everything that a workflow does without waiting is done. */
const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
