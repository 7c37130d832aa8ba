/**
 * Statements on a pool of connections. A connection that is lost is told apart from a statement that the server refused:
 * of the first, nobody knows what became of what it carried.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'

/** Which store it is. */
export interface Place {
  /** For people; without a password. */
  readonly name: string
  /** The schema, quoted. */
  readonly schema: string
  /** Milliseconds that a statement may take. */
  readonly timeout: number
}

/** The part of a `pg` pool that the store uses. */
export interface PostgresPool {
  /** Get a connection. */
  readonly connect: () => Promise<PostgresClient>
  /** The options of the pool: `max` is the number of its connections. */
  readonly options?: { readonly max?: number | undefined }
  /**
   * Hear of each new connection before anybody gets it. Without it, a server that ends a connection at that moment ends the
   * process with an `error` event that nobody hears.
   */
  readonly on?: (event: 'connect', listener: (client: PostgresClient) => void) => unknown
  /** Close all connections. */
  readonly end: () => Promise<unknown>
}

/** The part of a `pg` connection that the store uses. */
export interface PostgresClient {
  /**
   * Run a statement.
   *
   * @param query the text, the values and the name of the prepared statement
   */
  readonly query: (query: {
    readonly text: string
    readonly values: unknown[]
    readonly name?: string
  }) => Promise<{ readonly rows: unknown[] }>
  /**
   * Give the connection back to the pool.
   *
   * @param destroy true: close it instead
   */
  readonly release: (destroy?: boolean) => void
  /** Listen for an error of the connection. */
  readonly on: PostgresListeners
  /** Stop listening. */
  readonly off: PostgresListeners
}

/** Adds or removes a listener. */
export interface PostgresListeners {
  (event: 'error', listener: () => void): unknown
  (event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown
}

/** A connection that listens. */
export interface Listening {
  readonly end: () => void
}

/** The connection is gone, with or without what was sent. */
export class ConnectionLost extends Error {}

/** No connection could be had: nothing was sent. */
export class Unreachable extends Error {}

export type Rows = readonly Readonly<Record<string, unknown>>[]

/** Runs one statement; the text must be one of a few, they are prepared. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<Rows>

/** The same; unnamed, it is planned for these values. */
type AnyQuery = (text: string, values?: readonly unknown[], isNamed?: boolean) => Promise<Rows>

/** How long a statement may take. */
export interface Limit {
  /** Milliseconds. */
  readonly timeout: number
  /** Asks the server to end the statement that a connection waits for. */
  readonly cancel: (client: PostgresClient) => void
}

/** Milliseconds that a statement may take now, where that is less than the limit. */
const shorter = new AsyncLocalStorage<number>()

/** Do something of which each statement may take only so many milliseconds. */
export const within = <T>(milliseconds: number, work: () => Promise<T>): Promise<T> =>
  shorter.run(Math.max(1, Math.ceil(milliseconds)), work)

/** Pools, which stores may share, whose connections have a listener for errors. */
const listenedPools = new WeakSet<PostgresPool>()

export class Database {
  readonly #pool: PostgresPool
  readonly #limit: Limit | undefined
  readonly place: Place
  /** The schema, quoted. */
  readonly schema: string
  readonly #names = new Map<string, string>()
  readonly #going = new Set<Promise<unknown>>()

  /** @param limit of each statement. Undefined: the pool is somebody's, who limits them. */
  constructor(pool: PostgresPool, place: Place, limit: Limit | undefined) {
    this.#pool = pool
    this.place = place
    this.schema = place.schema
    this.#limit = limit
    if (listenedPools.has(pool)) return
    listenedPools.add(pool)
    // For as long as a connection lives: its server can end it while the pool has taken its own listener off, and ours is
    // not on yet. Whoever uses it learns of that by the statement that fails.
    pool.on?.('connect', (client) => void client.on('error', () => undefined))
  }

  /** The most connections at a time. */
  get connections(): number {
    return this.#pool.options?.max ?? 1
  }

  /** A statement that changes nothing. If its connection is lost another one is asked, and any of the pool may be lost unseen. */
  readonly read: Query = async (text, values) => {
    for (let others = this.connections; ; others--) {
      try {
        return await this.write(text, values)
      } catch (error) {
        if (!(error instanceof ConnectionLost) || others === 0) throw error
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }

  /** The same, planned for these very values: a statement that is prepared by name gets one plan for all. */
  async readFresh(text: string, values: readonly unknown[]): Promise<Rows> {
    return this.#connected((query) => query(text, values, false), 'alone')
  }

  /** A statement that may change something, and is a transaction of its own. */
  readonly write: Query = (text, values) => this.#connected((query) => query(text, values), 'alone')

  /**
   * Several statements in one transaction, for which the server keeps to the limit.
   *
   * @param first a statement that is sent with its beginning
   */
  transaction<T>(work: (query: Query) => Promise<T>, first?: string): Promise<T> {
    return this.#connected(async (query, abandon) => {
      const most = this.#most()
      const limit = most === undefined ? undefined : `set local statement_timeout = ${most}`
      try {
        await query(['begin', limit, first].filter((text) => text !== undefined).join('; '))
        const result = await work(query)
        await query('commit')
        return result
      } catch (error) {
        // What counts is why it failed. A connection that can't be rolled back must not go back to the pool with its locks.
        if (!(error instanceof ConnectionLost)) await query('rollback').catch(abandon)
        throw error
      }
    }, 'together')
  }

  /**
   * Hold a connection that hears a channel's notifications. Undefined where the pool has only one: it is needed.
   *
   * @param lost called once, when the connection is gone
   */
  async listen(channel: string, heard: (payload: string) => void, lost: () => void): Promise<Listening | undefined> {
    if ((this.#pool.options?.max ?? 2) < 2) return undefined
    const client = await this.#pool.connect()
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      client.off('notification', onNotification)
      client.release(true) // it must not go back to the pool listening
    }
    const onNotification = ({ payload }: { readonly payload?: string | undefined }): void => heard(payload ?? '')
    client.on('error', () => {
      if (ended) return
      end()
      lost()
    })
    client.on('notification', onNotification)
    try {
      await client.query({ text: `listen "${channel}"`, values: [] })
    } catch (error) {
      end()
      throw error
    }
    return { end }
  }

  /** Wait for what is being done, and `work` of several statements counts as one: it may go on after a close began. */
  track<T>(work: () => Promise<T>): Promise<T> {
    const going = work()
    const settled = going.then(
      () => undefined,
      () => undefined,
    )
    this.#going.add(settled)
    void settled.then(() => this.#going.delete(settled))
    return going
  }

  async idle(): Promise<void> {
    while (this.#going.size > 0) await Promise.all(this.#going)
  }

  #most(): number | undefined {
    return this.#limit && Math.min(shorter.getStore() ?? Infinity, this.#limit.timeout)
  }

  /** @param how each statement `alone`, limited from here; or `together` in a transaction, limited by the server */
  async #connected<T>(
    work: (query: AnyQuery, abandon: () => void) => Promise<T>,
    how: 'alone' | 'together',
  ): Promise<T> {
    let client: PostgresClient
    try {
      client = await this.#pool.connect()
    } catch (error) {
      throw new Unreachable(
        `no connection to PostgreSQL could be made (${messageOf(error)}); nothing was changed: ${adviceFor(error)}`,
        { cause: error },
      )
    }
    let broken = false
    const onError = (): void => {
      broken = true // whoever waits for an answer is told; unheard, it would end the process
    }
    client.on('error', onError)
    try {
      return await work(async (text, values = [], isNamed = true) => {
        const most = how === 'alone' ? this.#most() : undefined
        let timer: ReturnType<typeof setTimeout> | undefined
        const end = (every: number): void => {
          broken = true // the request may come late, and must not end what this connection is used for next
          this.#limit?.cancel(client)
          timer = setTimeout(end, every, every) // one that comes before the statement ends nothing
        }
        if (most !== undefined) timer = setTimeout(end, most, Math.max(50, most / 10))
        try {
          const { rows } = await client.query({
            text,
            values: [...values],
            ...(values.length > 0 && isNamed && { name: this.#nameOf(text) }),
          })
          return rows as Rows
        } catch (error) {
          if (stateOf(error) !== undefined) throw error
          broken = true
          throw new ConnectionLost(
            `the connection to PostgreSQL was lost before the answer came (${messageOf(error)})`,
            {
              cause: error,
            },
          )
        } finally {
          clearTimeout(timer)
        }
      }, onError)
    } finally {
      client.release(broken)
      if (!broken) client.off('error', onError) // a broken one may say more
    }
  }

  /** A pool may be shared, so the name of a prepared statement says what its text is. */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = `indelible_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    this.#names.set(text, name)
    return name
  }
}

/**
 * The state that the server gave with a refusal; undefined where it has not answered, or has only said goodbye.
 *
 * Source  https://www.postgresql.org/docs/18/errcodes-appendix.html: classes 08 and 57P are about the connection
 */
export const stateOf = (error: unknown): string | undefined => {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown }
  if (typeof severity !== 'string' || typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) return undefined
  return code.startsWith('08') || code.startsWith('57P') ? undefined : code
}

/** Whether a cluster has no such function, or does not support it. */
export const isUnsupported = (error: unknown): boolean => ['42883', '0A000'].includes(stateOf(error) ?? '')

/**
 * What to do where there is no connection.
 *
 * Source  https://www.postgresql.org/docs/18/errcodes-appendix.html
 */
const adviceFor = (error: unknown): string => {
  const code = (error as { readonly code?: unknown } | undefined)?.code
  if (code === '28P01' || code === '28000') return 'check the user and the password'
  if (code === '3D000') return 'create the database, or name another'
  if (code === 'ENOTFOUND') return 'check the name of the host'
  if (/password must be a string/.test(messageOf(error)))
    return 'the server wants a password: put it in the address or in PGPASSWORD'
  return 'try again'
}

const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ') // of all addresses of a host
  return error instanceof Error ? error.message : String(error)
}
