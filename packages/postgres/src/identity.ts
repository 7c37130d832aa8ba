/** Which database an address leads to, whatever its spelling. */
import { Pool } from 'pg'

/**
 * The identity of the store's tables behind an address: the same for each spelling of the address, for each role, and
 * after a move of the server. For what is kept beside the store, such as the spools of a recorder.
 *
 * @param connectionString the address, as `postgresStore` takes it
 * @returns a text; undefined if the store does not exist, or the server does not tell who it is
 */
export const storeIdentity = async (connectionString: string): Promise<string | undefined> => {
  const schema = URL.canParse(connectionString) ? new URL(connectionString).searchParams.get('schema') : null
  const pool = new Pool({ connectionString, max: 1 })
  pool.on('error', () => {}) // of an idle connection
  try {
    const { rows } = await pool.query<{ readonly identity: string | null }>(
      `select concat_ws('/', system_identifier, (select oid from pg_database where datname = current_database()),
         (select t.oid from pg_class t join pg_namespace n on n.oid = t.relnamespace
          where n.nspname = $1::text and t.relname = 'indelible')) as identity from pg_control_system()`,
      [schema ?? 'indelible'],
    )
    const identity = rows[0]?.identity ?? undefined
    return identity?.split('/').length === 3 ? identity : undefined
  } catch {
    return undefined // a server that is only compatible, or a role that may not ask
  } finally {
    await pool.end()
  }
}
