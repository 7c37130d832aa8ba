/**
 * Turns of the writers of one log. The server grants advisory locks in the order of requests, so a
 * turn is such a lock, held by a transaction on its own connection.
 */
import { createHash } from 'node:crypto'
import { isUnsupported, withStatementLimit, type Database } from './database.ts'

export class Turns {
  readonly #db: Database
  /** Connections left for turns: initially half of the pool, because the holder of a turn needs another one. */
  #free: number
  readonly #waiting: (() => void)[] = []
  /** Functions that end the current turns. */
  readonly #held = new Set<() => void>()
  #closed = false
  #supported = true

  constructor(db: Database) {
    this.#db = db
    this.#free = Math.floor(db.connections / 2)
  }

  /** Whether the server supports advisory locks. */
  get supported(): boolean {
    return this.#supported
  }

  unsupported(): void {
    this.#supported = false
  }

  /** Waits for all earlier requests, up to the store's timeout. @returns a function that ends the turn */
  async take(scope: string, id: string): Promise<() => void> {
    const { timeout } = this.#db.place
    if (!this.#supported) return () => undefined
    const until = performance.now() + timeout
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return new Promise((granted, refused) => {
      const held = withStatementLimit(until - performance.now(), () =>
        this.#db.transaction(
          () =>
            new Promise<void>((end) => {
              this.#held.add(end)
              granted(() => void (this.#held.delete(end) && end()))
              if (this.#closed) end()
            }),
          // Ends the turn of a process that is stopped or cut off.
          `set local idle_in_transaction_session_timeout = ${Math.ceil(timeout / 3)}; select pg_advisory_xact_lock(${this.keyOf(scope, id)})`,
        ),
      )
      // Losing the connection later ends the turn. That must not fail an append.
      void held.catch(refused).finally(() => this.#next())
    }).catch((error: unknown) => {
      if (!isUnsupported(error)) throw error
      this.#supported = false
      return () => undefined
    }) as Promise<() => void>
  }

  /** Ends all turns when the store is closed. */
  close(): void {
    this.#closed = true
    for (const end of this.#held) end()
  }

  #next(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }

  /** The lock key of a log: 64 bits, as a signed number. */
  keyOf(scope: string, id: string): string {
    const digest = createHash('sha256').update(`indelible turn\0${this.#db.schema}\0${scope}\0${id}`).digest()
    return digest.readBigInt64BE().toString()
  }
}
