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
    readonly name?: string | undefined
  }) => Promise<{ readonly rows: unknown[]; readonly fields?: readonly { readonly name: string }[] }>
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
  readonly #prepared = new Map<string, Prepared>()
  /** The number of tracked calls that have not ended. */
  #going = 0
  #whenIdle: (() => void)[] = []

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
    return this.#alone(text, values, undefined)
  }

  /** Run a statement that may change something, as its own transaction. */
  readonly write: Query = (text, values = []) => this.#alone(text, values, this.#preparedOf(text, values))

  async #alone(text: string, values: readonly unknown[], prepared: Prepared | undefined): Promise<Rows> {
    const connection = await this.#connect()
    try {
      return await connection.query(text, values, prepared, this.#most())
    } finally {
      connection.release()
    }
  }

  /**
   * Several statements in one transaction. The server enforces the limit.
   *
   * @param first a statement to send with `begin`
   */
  async transaction<T>(work: (query: Query) => Promise<T>, first?: string): Promise<T> {
    const connection = await this.#connect()
    const query: Query = (text, values = []) => connection.query(text, values, this.#preparedOf(text, values))
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
      if (!(error instanceof ConnectionLost)) await query('rollback').catch(() => connection.abandon())
      throw error
    } finally {
      connection.release()
    }
  }

  /**
   * Hold a connection that listens on a channel. Undefined if the pool has only one, which is needed for statements.
   *
   * @param lost called once, when the connection is lost
   */
  async listen(
    channel: string,
    onPayload: (payload: string) => void,
    lost: () => void,
  ): Promise<Listening | undefined> {
    if ((this.#pool.options?.max ?? 2) < 2) return undefined
    const client = await this.#pool.connect()
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      client.off('notification', onNotification)
      client.release(true) // it must not return to the pool while it listens
    }
    const onNotification = ({ payload }: { readonly payload?: string | undefined }): void => onPayload(payload ?? '')
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
  async track<T>(work: () => Promise<T>): Promise<T> {
    this.#going += 1
    try {
      return await work()
    } finally {
      this.#going -= 1
      if (this.#going === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
    }
  }

  async idle(): Promise<void> {
    while (this.#going > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  /**
   * The prepared statement of a text. Its name is derived from the text, so that a name never has two: a pool, and the
   * server's connections behind a pooler, may be shared with other versions of this package. Undefined without values.
   */
  #preparedOf(text: string, { length }: readonly unknown[]): Prepared | undefined {
    if (length === 0) return undefined
    const known = this.#prepared.get(text)
    if (known !== undefined) return known
    const name = `indelible_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    const prepared: Prepared = { name, columns: undefined }
    this.#prepared.set(text, prepared)
    return prepared
  }

  #most(): number | undefined {
    return this.#limit && Math.min(statementLimit.getStore() ?? Infinity, this.#limit.timeout)
  }

  async #connect(): Promise<Connection> {
    try {
      return new Connection(await this.#pool.connect(), this.#limit)
    } catch (error) {
      throw new Unreachable(
        `no connection to PostgreSQL could be made (${messageOf(error)}); nothing was changed: ${adviceFor(error)}`,
        { cause: error },
      )
    }
  }
}

/** A prepared statement, and the columns of its last result. */
interface Prepared {
  readonly name: string
  columns: Columns | undefined
}
type Columns = readonly { readonly name: string }[]

/** Throws if a result has other columns than the one before: a pooler has mixed up the responses of a connection. */
const compareColumns = (prepared: Prepared, columns: Columns | undefined): void => {
  const before = prepared.columns
  prepared.columns = columns
  if (before === undefined || columns === undefined) return
  if (before.length === columns.length && before.every(({ name }, index) => name === columns[index]?.name)) return
  prepared.columns = undefined // either may be the wrong one
  throw new Error('the response has the columns of another statement')
}

/** A connection of the pool, while it is used. */
class Connection {
  readonly #client: PostgresClient
  readonly #limit: Limit | undefined
  #isBroken = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(client: PostgresClient, limit: Limit | undefined) {
    this.#client = client
    this.#limit = limit
    client.on('error', this.abandon)
  }

  /** Closes the connection when it is released. A listener, too: without one, an error would end the process. */
  readonly abandon = (): void => {
    this.#isBroken = true // a pending statement fails
  }

  /**
   * @param prepared undefined: it is not prepared
   * @param most the limit in milliseconds, if the server does not enforce one
   */
  async query(text: string, values: readonly unknown[], prepared: Prepared | undefined, most?: number): Promise<Rows> {
    if (most !== undefined) this.#timer = setTimeout(this.#cancel, most, Math.max(50, most / 10))
    try {
      const found = await this.#client.query({ text, values: values as unknown[], name: prepared?.name })
      if (prepared !== undefined) compareColumns(prepared, found.fields)
      return found.rows as Rows
    } catch (error) {
      if (stateOf(error) !== undefined) throw error
      this.abandon()
      throw new ConnectionLost(
        `the connection to PostgreSQL was lost before the response arrived (${messageOf(error)})`,
        { cause: error },
      )
    } finally {
      clearTimeout(this.#timer)
    }
  }

  readonly #cancel = (every: number): void => {
    this.abandon() // a late cancel request must not end the next statement of this connection
    this.#limit?.cancel(this.#client)
    this.#timer = setTimeout(this.#cancel, every, every) // a request that arrives before the statement has no effect
  }

  release(): void {
    this.#client.release(this.#isBroken)
    if (!this.#isBroken) this.#client.off('error', this.abandon) // a broken one may emit more errors
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
