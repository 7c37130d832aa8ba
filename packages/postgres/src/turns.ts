/**
 * Turns of the writers that meet at one log. The server grants its advisory locks in the order in which they were asked
 * for, so a turn is such a lock: of a transaction, on a connection of its own, that ends with the turn.
 */
import { createHash } from 'node:crypto'
import { isUnsupported, within, type Database } from './database.ts'

export class Turns {
  readonly #db: Database
  /** How many more connections may wait or be kept for turns. Those who have a turn need others, so half of them stay. */
  #free: number
  readonly #waiting: (() => void)[] = []
  /** What ends the turns that are held. */
  readonly #held = new Set<() => void>()
  #closed = false
  #supported = true

  constructor(db: Database) {
    this.#db = db
    this.#free = Math.floor(db.connections / 2)
  }

  /** Whether the server has a line to wait in. */
  get supported(): boolean {
    return this.#supported
  }

  unsupported(): void {
    this.#supported = false
  }

  /** Waits until all who asked before are done, for as long as the store waits for anything. @returns what ends the turn */
  async take(scope: string, id: string): Promise<() => void> {
    const { timeout } = this.#db.place
    if (!this.#supported) return () => undefined
    const until = performance.now() + timeout
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return new Promise((granted, refused) => {
      const held = within(until - performance.now(), () =>
        this.#db.transaction(
          () =>
            new Promise<void>((end) => {
              this.#held.add(end)
              granted(() => void (this.#held.delete(end) && end()))
              if (this.#closed) end()
            }),
          // A process that is stopped, or cut off, does not end its turn.
          `set local idle_in_transaction_session_timeout = ${Math.ceil(timeout / 3)}; select pg_advisory_xact_lock(${this.keyOf(scope, id)})`,
        ),
      )
      // A connection that is lost later has ended the turn: that is no failure of an append.
      void held.catch(refused).finally(() => this.#next())
    }).catch((error: unknown) => {
      if (!isUnsupported(error)) throw error
      this.#supported = false
      return () => undefined
    }) as Promise<() => void>
  }

  /** Ends every turn: the store is closed. */
  close(): void {
    this.#closed = true
    for (const end of this.#held) end()
  }

  #next(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }

  /** What is locked for a log: 64 bits, as a signed number. */
  keyOf(scope: string, id: string): string {
    const digest = createHash('sha256').update(`indelible turn\0${this.#db.schema}\0${scope}\0${id}`).digest()
    return digest.readBigInt64BE().toString()
  }
}
