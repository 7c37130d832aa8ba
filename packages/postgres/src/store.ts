/**
 * A store in PostgreSQL, for records that several machines write to. All processes with the same
 * database and schema share it.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, optionsOf, type OptionNames } from 'indelible/internal/json'
import { amount, type Task } from 'indelible/internal/task'
import { Pool } from 'pg'
import { type OpenStoreFault, type Store, storeOf, storeTask } from 'indelible/internal/store'
import { cancelStatement } from './cancel.ts'
import { Database, type Place, type PostgresPool } from './database.ts'
import { Documents } from './documents.ts'
import { postgresDriver } from './driver.ts'
import { faultOf, retryUntil } from './fault.ts'
import { prepare } from './open.ts'
import { quoteIdentifier } from './schema.ts'

/** The options of `postgresStore`: a connection string, or your own pool. */
export type PostgresOptions = (
  | {
      /** `postgres://user:password@host:port/database`, with the parameters of `pg`, and `schema`. */
      readonly connectionString: string
      /** The maximum number of connections. Default: 10. */
      readonly connections?: number
      readonly pool?: never
    }
  | {
      /** Your own pool of `pg`. The store does not end it; its time limits and `error` listener are up to you. */
      readonly pool: PostgresPool
      readonly connectionString?: never
      readonly connections?: never
    }
) & {
  /**
   * The schema of the tables. It is created if it does not exist. Default: the `schema` of the
   * connection string, or `indelible`.
   */
  readonly schema?: string
  /** Whether to create a missing schema and its tables. If false, the fault is `NoStore`. Default: true. */
  readonly create?: boolean
  /** The scope of the handle. Default: `default`. */
  readonly scope?: string
  /**
   * The maximum duration of a statement, and of waiting for other writers, in milliseconds, before
   * `Busy`. A server that does not respond gets one more second. Statements on your own `pool` are
   * limited by that pool. From 1 to 2,147,482,647. Default: 30,000.
   */
  readonly timeout?: number
  /**
   * The clock of the store. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
}

/**
 * Open the store in a database schema, or create it.
 *
 * A write resolves when its transaction is committed. Its durability is that of the server's
 * `synchronous_commit`. A lost connection is an `Io` fault; the next call gets another connection.
 *
 * Cost    concurrent appends share one statement and one commit (bench: postgres)
 *
 * @param options the connection string or the pool, the schema, and time limits
 * @returns the store; or `NoStore`, `NotAStore`, `NewerStore`, `OlderStore`, `ReadOnly`, `Full`,
 * `Busy`, `Io`. Another program's schema is not changed
 * @throws TypeError without a connection string or a pool, with both, or with a time limit below 1
 * @example
 * const store = await postgresStore({ connectionString: 'postgres://localhost/agents' })
 * const session = await createSession(store)
 */
export const postgresStore = (options: PostgresOptions): Task<OpenStoreFault, Store> => {
  const {
    connectionString,
    schema = schemaIn(connectionString) ?? 'indelible',
    create = true,
    scope,
    timeout = 30_000,
    now = Date.now,
  } = optionsOf('postgresStore', options, optionNames)
  if ((connectionString === undefined) === (options?.pool === undefined))
    throw new TypeError('postgresStore needs one of `connectionString` and `pool`')
  if (options.pool !== undefined && options.connections !== undefined)
    throw new TypeError('postgresStore: `connections` is of your own `pool`: set its `max`')
  amount('timeout', timeout, { unit: 'milliseconds', least: 1, most: longest })
  return storeTask(async () => {
    if (schema === '' || schema.includes('\0') || Buffer.byteLength(schema) > 63)
      return left({
        _tag: 'Io',
        operation: 'open the store',
        cause: new Error(`${JSON.stringify(schema)} can't be the name of a schema`),
      })
    const pool = poolOf(options, timeout)
    if (isLeft(pool)) return pool
    const place: Place = {
      name: `schema ${schema} of ${nameOf(connectionString)}`,
      schema: quoteIdentifier(schema),
      timeout,
    }
    const end = async (): Promise<void> => {
      if (options.pool === undefined) await pool.right.end()
    }
    try {
      const limit = options.pool === undefined ? { timeout, cancel: cancelStatement } : undefined
      const db = new Database(pool.right, place, limit)
      const documents = new Documents(db)
      const prepared = await retryUntil(timeout, () => prepare(db, documents, create))
      const store = isLeft(prepared) ? prepared : storeOf(postgresDriver(db, now, end, documents), scope)
      if (isLeft(store)) await end()
      return store
    } catch (error) {
      await end()
      return left(faultOf(error, place, `open ${place.name}`))
    }
  }, 'postgresStore')
}

/** The longest timer, less the second that a server gets beyond the time limit. */
const longest = 2 ** 31 - 1001

const poolOf = (
  { connectionString, connections = 10, pool }: PostgresOptions,
  timeout: number,
): Either<OpenStoreFault, PostgresPool> => {
  if (pool !== undefined) return right(pool)
  if (!isAddress(connectionString))
    return left({
      _tag: 'Io',
      operation: 'read the connection string',
      cause: new Error(
        'expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters in USER and PASSWORD percent-encoded',
      ),
    })
  try {
    const own = new Pool({
      connectionString,
      max: connections,
      query_timeout: timeout + 1000, // for a server that does not respond
      connectionTimeoutMillis: Math.min(timeout, 10_000),
      keepAlive: true,
      application_name: 'indelible',
      allowExitOnIdle: true,
    })
    own.on('error', () => {}) // an idle connection was lost; the pool has removed it, and it had no pending statement
    return right(own)
  } catch (cause) {
    return left({ _tag: 'Io', operation: 'read the connection string', cause })
  }
}

/** Whether it is an address, or a folder of sockets, which `pg` also accepts. */
const isAddress = (connectionString: string): boolean =>
  /^(?:postgres(?:ql)?|socket):/i.test(connectionString)
    ? URL.canParse(connectionString)
    : connectionString.startsWith('/')

const schemaIn = (connectionString: string | undefined): string | undefined =>
  connectionString !== undefined && URL.canParse(connectionString)
    ? (new URL(connectionString).searchParams.get('schema') ?? undefined)
    : undefined

/** The host and the database of a connection string, without its secrets. */
const nameOf = (connectionString: string | undefined): string => {
  if (connectionString === undefined || !URL.canParse(connectionString)) return 'the database'
  const { host, pathname } = new URL(connectionString)
  return host === '' && pathname.length < 2 ? 'the database' : `${host}${pathname}`
}

const optionNames: OptionNames<PostgresOptions> = {
  connectionString: true,
  connections: true,
  pool: true,
  schema: true,
  create: true,
  scope: true,
  timeout: true,
  now: true,
}
