/**
 * Asking a server to end a statement. A limit on the client's side needs it: pools between refuse `statement_timeout` when a
 * connection starts, and in transaction mode they forget what was set.
 */
import { connect } from 'node:net'
import type { PostgresClient } from './database.ts'

/** The number that a request to cancel has in place of a protocol version. */
const cancelCode = 80877102
/** Milliseconds after which nobody waits for the server to take the request. */
const patience = 5000

/**
 * Send a request to cancel, on a connection of its own. The statement then fails with `57014`; if the request is lost, it
 * goes on. A client that is none of `pg` has no keys, and gets none.
 *
 * Source  https://www.postgresql.org/docs/18/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 */
export const cancelStatement = (client: PostgresClient): void => {
  const { host, port, processID, secretKey } = client as Partial<Keys>
  if (host === undefined || port === undefined || typeof processID !== 'number' || typeof secretKey !== 'number') return
  const request = Buffer.alloc(16)
  for (const [index, part] of [16, cancelCode, processID, secretKey].entries()) request.writeInt32BE(part, index * 4)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.on('error', () => undefined)
  socket.setTimeout(patience, () => socket.destroy())
  socket.unref()
  socket.write(request) // the server closes; PgBouncer 1.18 crashes where the client does
}

/** Of a `pg` client. */
interface Keys extends PostgresClient {
  readonly host: string
  readonly port: number
  readonly processID: number
  readonly secretKey: number
}
