/** A pool of `pg` whose statements can be struck: refused by the server, or lost with their connection. */
import type { Faults, StruckStep } from '@indelible/testing'
import type { Pool } from 'pg'
import type { PostgresPool } from '../src/database.ts'
import { openPool } from './postgres-server.ts'

/** Source: https://www.postgresql.org/docs/18/errcodes-appendix.html: disk full, a serialization failure, a lock that was not had. */
const refusals = ['53100', '40001', '55P03']

/** A server refuses what it has not done; of what is lost with its connection nobody knows. */
const failure = ({ strike, step, number }: StruckStep): Error => {
  const refused = strike === 'fail before' && number % 4 < 3
  return Object.assign(new Error(`${strike}: ${step}`), refused && { severity: 'ERROR', code: refusals[number % 4] })
}

export const faultyPool = (from: string | Pool, faults: Faults): PostgresPool => {
  const pool = typeof from === 'string' ? openPool({ connectionString: from, max: 4 }) : from
  return {
    connect: async () => {
      await faults.later('connect', async () => {})
      const client = await pool.connect()
      return {
        query: (query) => {
          const text = query.text.trim().replaceAll(/\s+/g, ' ')
          return faults.later(
            text.length > 60 ? `${text.slice(0, 20)} … ${text.slice(-30)}` : text,
            () => client.query(query),
            {
              error: failure,
            },
          )
        },
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
        off: (event, listener) => client.off(event, listener),
      }
    },
    end: async () => (typeof from === 'string' ? pool.end() : undefined),
  }
}
