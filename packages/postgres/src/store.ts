/**
 * A store in PostgreSQL, for records that more than one machine writes to. All processes with the same database and
 * schema share it.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, optionsOf } from 'indelible/json/kit'
import { amount, type Task } from 'indelible/task/kit'
import { Pool } from 'pg'
import { type OpenStoreFault, type Store, storeOf, storeTask } from 'indelible/store/kit'
import { cancelStatement } from './cancel.ts'
import { Database, type Place, type PostgresPool } from './database.ts'
import { Documents } from './documents.ts'
import { postgresDriver } from './driver.ts'
import { faultOf, patiently } from './fault.ts'
import { prepare } from './open.ts'
import { quoteIdentifier } from './schema.ts'

/** How to open a PostgreSQL store: with a connection string, or with a pool of yours. */
export type PostgresOptions = (
  | {
      /** `postgres://user:password@host:port/database`, with the parameters that `pg` knows, and `schema`. */
      readonly connectionString: string
      /** The most connections at a time. Default: 10. */
      readonly connections?: number
      readonly pool?: never
    }
  | {
      /** A pool of `pg`. It stays yours: it is not ended with the store, and its time limits and its `error` listener are your choice. */
      readonly pool: PostgresPool
      readonly connectionString?: never
      readonly connections?: never
    }
) & {
  /**
   * The schema of the tables. It is created if it does not exist. Default: that of the connection string, or
   * `indelible`.
   */
  readonly schema?: string
  /** Whether to create a missing schema and its tables; if false, that is `NoStore`. Default: true. */
  readonly create?: boolean
  /** The scope of the handle. Default: `default`. */
  readonly scope?: string
  /**
   * The most milliseconds for one statement, and for waiting for other writers, before `Busy`. A server that does not
   * answer at all gets one second more. Statements on a `pool` of yours are limited by that pool. Default: 30,000.
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
 * Open the store in a schema of a database, or create it.
 *
 * A write resolves when its transaction is committed. It is then as durable as the server's `synchronous_commit` makes
 * it. A lost connection is an `Io` fault; the next call gets another connection.
 *
 * Cost    appends that wait together share one statement and one commit (bench: postgres)
 *
 * @param options the connection string or the pool, the schema, and time limits
 * @returns the store; or `NoStore`, `NotAStore`, `NewerStore`, `OlderStore`, `ReadOnly`, `Full`, `Busy`, `Io`. A schema of another
 * program
 * is not changed
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
  } = optionsOf('postgresStore', options)
  amount('timeout', timeout, { unit: 'milliseconds' })
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
      const prepared = await patiently(timeout, () => prepare(db, create))
      const documents = new Documents(db)
      if (!isLeft(prepared)) await documents.look()
      const store = isLeft(prepared) ? prepared : storeOf(postgresDriver(db, now, end, documents), scope)
      if (isLeft(store)) await end()
      return store
    } catch (error) {
      await end()
      return left(faultOf(error, place, `open ${place.name}`))
    }
  }, 'postgresStore')
}

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
        'it should be postgres://USER:PASSWORD@HOST:PORT/DATABASE, and what is not a letter or a digit in USER and PASSWORD percent-encoded',
      ),
    })
  try {
    const own = new Pool({
      connectionString,
      max: connections,
      query_timeout: timeout + 1000, // for a server that does not answer at all
      connectionTimeoutMillis: Math.min(timeout, 10_000),
      keepAlive: true,
      application_name: 'indelible',
      allowExitOnIdle: true,
    })
    own.on('error', () => {}) // an idle connection was lost: the pool has dropped it, and nothing was on it
    return right(own)
  } catch (cause) {
    return left({ _tag: 'Io', operation: 'read the connection string', cause })
  }
}

/** An address, or a folder of sockets as `pg` takes it. */
const isAddress = (connectionString: string): boolean =>
  /^(?:postgres(?:ql)?|socket):/i.test(connectionString)
    ? URL.canParse(connectionString)
    : connectionString.startsWith('/')

const schemaIn = (connectionString: string | undefined): string | undefined =>
  connectionString !== undefined && URL.canParse(connectionString)
    ? (new URL(connectionString).searchParams.get('schema') ?? undefined)
    : undefined

/** The host and the database of a connection string: what may be shown. */
const nameOf = (connectionString: string | undefined): string => {
  if (connectionString === undefined || !URL.canParse(connectionString)) return 'the database'
  const { host, pathname } = new URL(connectionString)
  return host === '' && pathname.length < 2 ? 'the database' : `${host}${pathname}`
}
