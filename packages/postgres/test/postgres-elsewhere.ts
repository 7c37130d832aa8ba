/** How another process opens a PostgreSQL store. */
import { faultMessage } from 'indelible'
import { isLeft } from 'fp-ts/lib/Either.js'
import { type Store } from 'indelible/store'
import { postgresStore } from '../src/index.ts'

/** The argument: the connection string and the schema, as JSON. */
export const openStore = async (argument: string): Promise<Store> => {
  const { connectionString, schema } = JSON.parse(argument) as {
    readonly connectionString: string
    readonly schema: string
  }
  const opened = await postgresStore({ timeout: 600_000, connectionString, schema, connections: 4 })()
  if (isLeft(opened)) throw new Error(faultMessage(opened.left))
  return opened.right
}
