/** Outside signals during a run: interrupts, cancellation, timeouts. The loop checks them where it can stop. */
import type { Message } from '../../message/index.ts'
import { runCancelled, runTimedOut, stepTimedOut } from '../../message/internal.ts'
import type { Clock, Timer } from '../../task/index.ts'
import type { InterruptBehavior } from '../event.ts'
import type { Limits } from './limits.ts'
import type { StopReason } from '../result.ts'

/** A signal that cuts the current work. */
export interface Interrupt {
  readonly behavior: InterruptBehavior
  /** Whether it also discards a complete answer, as long as none of its calls has started. Default: false. */
  readonly discardsComplete?: boolean
  /** The user's new message; the run continues with it. */
  readonly message: Message | undefined
  /** The text for the results of unfinished calls. */
  readonly reason: string
  /** The stop reason if the run ends; undefined if it continues. */
  readonly stop: StopReason | undefined
}

export class Control {
  #cut: Interrupt | undefined
  /** Messages for which the run was interrupted again before it took the pending signal. */
  readonly #later: Interrupt[] = []
  #ended = false
  /** Whether the last answer is being recorded, after which only another message makes the run continue. */
  #isLast = false
  #abort = new AbortController()
  #stepTimer: Timer | undefined
  readonly #runTimer: Timer
  readonly #released: () => void
  readonly #outside: AbortSignal | undefined
  /** Called at the next signal. */
  onCut: (() => void) | undefined
  readonly #onOutside = (): void => void this.cancel()

  readonly #clock: Clock

  readonly #pauseAt: number

  constructor(
    { timeout, softTimeout }: Pick<Limits, 'timeout' | 'softTimeout'>,
    clock: Clock,
    outside: AbortSignal | undefined,
    released: () => void,
  ) {
    this.#clock = clock
    this.#pauseAt = softTimeout === Infinity ? Infinity : clock.now() + softTimeout
    this.#released = released
    this.#outside = outside
    this.#runTimer = clock.after(timeout, () => this.#timeOut(runTimedOut(timeout)))
    if (outside?.aborted === true) this.#onOutside()
    else outside?.addEventListener('abort', this.#onOutside) // no options: Node reads them from prototypes, too
  }

  /** The abort signal of the current work: the model's stream or the tools. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /**
   * Returns false if the run has ended or is about to. A signal that ends it replaces a pending one; any other waits
   * until the pending one is taken.
   */
  interrupt(cut: Interrupt): boolean {
    if (this.#ended || this.#cut?.stop !== undefined) return false
    if (this.#isLast && cut.stop !== undefined) {
      this.#released() // the end does not wait for a slow reader
      return false
    }
    this.#isLast = false
    if (this.#cut !== undefined && cut.stop === undefined) {
      this.#later.push(cut)
      return true
    }
    this.#cut = cut
    this.#abort.abort(new Error(cut.reason))
    this.onCut?.()
    if (cut.stop !== undefined) this.#released()
    return true
  }

  /** Ends the run. By default, an answer that is streaming is discarded. */
  cancel(reason: string = runCancelled, behavior: InterruptBehavior = 'discard'): boolean {
    return this.interrupt({ behavior, message: undefined, reason, stop: 'cancelled' })
  }

  #timeOut(reason: string): void {
    this.interrupt({ behavior: 'discard', message: undefined, reason, stop: 'timeout' })
  }

  /** Whether nothing new may start. */
  get isPaused(): boolean {
    return this.#pauseAt !== Infinity && this.#clock.now() >= this.#pauseAt
  }

  beginStep(timeout: number): void {
    if (this.#cut === undefined) this.#abort = new AbortController()
    this.#stepTimer = this.#clock.after(timeout, () => this.#timeOut(stepTimedOut(timeout)))
  }

  endStep(): void {
    this.#stepTimer?.cancel()
  }

  /** The signal that the loop has not taken yet. */
  get pending(): Interrupt | undefined {
    return this.#cut
  }

  /** Takes the pending signal. */
  cut(): Interrupt | undefined {
    const cut = this.#cut
    this.#cut = this.#later.shift()
    return cut
  }

  /** Called before the last answer is recorded. What would only stop the run comes too late from now on. */
  beginLast(): void {
    this.#isLast = true
  }

  /**
   * Called when a run is about to end: returns a late signal that makes it continue. Otherwise no
   * more signals are accepted.
   */
  close(): Interrupt | undefined {
    const late = this.cut()
    if (late !== undefined && late.stop === undefined) return late
    this.#ended = true
    return undefined
  }

  end(): void {
    this.#ended = true
    this.#runTimer.cancel()
    this.#stepTimer?.cancel()
    this.#outside?.removeEventListener('abort', this.#onOutside)
    this.#released()
  }
}
