/**
 * Runs statements on a connection pool. A lost connection is distinguished from a statement that
 * the server rejected: after a lost connection, the outcome of its statement is unknown.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'

/** The store's database. */
export interface Place {
  /** The name for people, without a password. */
  readonly name: string
  /** The schema, quoted. */
  readonly schema: string
  /** The maximum duration of a statement, in milliseconds. */
  readonly timeout: number
}

/** The part of a `pg` pool that the store uses. */
export interface PostgresPool {
  /** Returns a connection. */
  readonly connect: () => Promise<PostgresClient>
  /** The options of the pool. `max` is its maximum number of connections. */
  readonly options?: { readonly max?: number | undefined }
  /**
   * Calls a listener for each new connection before it is used. Without this, if the server closes
   * a connection at that moment, its unhandled `error` event ends the process.
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
   * Return the connection to the pool.
   *
   * @param destroy if true, close it instead
   */
  readonly release: (destroy?: boolean) => void
  /** Add a listener for errors or notifications of the connection. */
  readonly on: {
    (event: 'error', listener: () => void): unknown
    (event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown
  }
  /** Remove a listener. */
  readonly off: PostgresClient['on']
}

export interface Listening {
  readonly end: () => void
}

/** The connection was lost. It is unknown whether the statement ran. */
export class ConnectionLost extends Error {}

/** No connection could be made, so nothing was sent. */
class Unreachable extends Error {}

export type Rows = readonly Readonly<Record<string, unknown>>[]

/** Runs one statement. It is prepared, so the text must be one of a small set. */
export type Query = (text: string, values?: readonly unknown[]) => Promise<Rows>

/** Like `Query`. If `isNamed` is false, the statement is planned for these values. */
type AnyQuery = (text: string, values?: readonly unknown[], isNamed?: boolean) => Promise<Rows>

/** The limit of a statement's duration. */
interface Limit {
  /** Milliseconds. */
  readonly timeout: number
  /** Asks the server to end the current statement of a connection. */
  readonly cancel: (client: PostgresClient) => void
}

/** The current limit in milliseconds, if it is lower than the general limit. */
const statementLimit = new AsyncLocalStorage<number>()

/** Limits the duration of each statement in `work`. */
export const withStatementLimit = <T>(milliseconds: number, work: () => Promise<T>): Promise<T> =>
  statementLimit.run(Math.max(1, Math.ceil(milliseconds)), work)

/** Pools whose connections have an error listener. Stores may share a pool. */
const listenedPools = new WeakSet<PostgresPool>()

export class Database {
  readonly #pool: PostgresPool
  readonly #limit: Limit | undefined
  readonly place: Place
  /** The schema, quoted. */
  readonly schema: string
  readonly #names = new Map<string, string>()
  readonly #going = new Set<Promise<unknown>>()

  /** @param limit the limit of each statement. Undefined for a caller's pool, which has its own limits */
  constructor(pool: PostgresPool, place: Place, limit: Limit | undefined) {
    this.#pool = pool
    this.place = place
    this.schema = place.schema
    this.#limit = limit
    if (listenedPools.has(pool)) return
    listenedPools.add(pool)
    // The listener stays as long as the connection: the server can close it while the pool has
    // removed its own listener and ours is not yet added. The next statement on it then fails.
    pool.on?.('connect', (client) => void client.on('error', () => undefined))
  }

  /** The maximum number of concurrent connections. */
  get connections(): number {
    return this.#pool.options?.max ?? 1
  }

  /** Run a statement that changes nothing. A lost connection is retried, once for each connection of the pool. */
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

  /** Like `read`, but planned for these values. A prepared statement has one plan for all values. */
  async readFresh(text: string, values: readonly unknown[]): Promise<Rows> {
    return this.#connected((query) => query(text, values, false), 'alone')
  }

  /** Run a statement that may change something, as its own transaction. */
  readonly write: Query = (text, values) => this.#connected((query) => query(text, values), 'alone')

  /**
   * Several statements in one transaction. The server enforces the limit.
   *
   * @param first a statement to send with `begin`
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
        // The original error is thrown. If rollback fails, the connection is closed, so that it
        // does not return to the pool with its locks.
        if (!(error instanceof ConnectionLost)) await query('rollback').catch(abandon)
        throw error
      }
    }, 'together')
  }

  /**
   * Hold a connection that listens on a channel. Undefined if the pool has only one, which is needed for statements.
   *
   * @param lost called once, when the connection is lost
   */
  async listen(channel: string, heard: (payload: string) => void, lost: () => void): Promise<Listening | undefined> {
    if ((this.#pool.options?.max ?? 2) < 2) return undefined
    const client = await this.#pool.connect()
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      client.off('notification', onNotification)
      client.release(true) // it must not return to the pool while it listens
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

  /** Makes a close wait for `work`, which may run several statements, even after the close has started. */
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
    return this.#limit && Math.min(statementLimit.getStore() ?? Infinity, this.#limit.timeout)
  }

  /** @param how `alone`: each statement is limited here; `together`: they are a transaction, limited by the server */
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
      broken = true // a pending statement fails; without this listener, the event would end the process
    }
    client.on('error', onError)
    try {
      return await work(async (text, values = [], isNamed = true) => {
        const most = how === 'alone' ? this.#most() : undefined
        let timer: ReturnType<typeof setTimeout> | undefined
        const end = (every: number): void => {
          broken = true // a late cancel request must not end the next statement of this connection
          this.#limit?.cancel(client)
          timer = setTimeout(end, every, every) // a request that arrives before the statement has no effect
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
            `the connection to PostgreSQL was lost before the response arrived (${messageOf(error)})`,
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
      if (!broken) client.off('error', onError) // a broken one may emit more errors
    }
  }

  /** A pool may be shared, so the name of a prepared statement is derived from its text. */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = `indelible_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    this.#names.set(text, name)
    return name
  }
}

/**
 * The SQLSTATE of a rejected statement; undefined if the server did not answer, or only announced its shutdown.
 *
 * Source  https://www.postgresql.org/docs/18/errcodes-appendix.html: classes 08 and 57P are about the connection
 */
export const stateOf = (error: unknown): string | undefined => {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown }
  if (typeof severity !== 'string' || typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code)) return undefined
  return code.startsWith('08') || code.startsWith('57P') ? undefined : code
}

/** Whether a cluster lacks a function or feature. */
export const isUnsupported = (error: unknown): boolean => ['42883', '0A000'].includes(stateOf(error) ?? '')

/**
 * Advice for a failed connection.
 *
 * Source  https://www.postgresql.org/docs/18/errcodes-appendix.html
 */
const adviceFor = (error: unknown): string => {
  const code = (error as { readonly code?: unknown } | undefined)?.code
  if (code === '28P01' || code === '28000') return 'check the user and the password'
  if (code === '3D000') return 'create the database, or name another'
  if (code === 'ENOTFOUND') return 'check the name of the host'
  if (/password must be a string/.test(messageOf(error)))
    return 'the server requires a password: put it in the address or in PGPASSWORD'
  return 'try again'
}

const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ') // one for each address of the host
  return error instanceof Error ? error.message : String(error)
}
