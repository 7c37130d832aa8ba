/**
 * Asks the server to end a statement. The client needs this to limit statements: poolers reject
 * `statement_timeout` in the startup message, and in transaction mode they forget settings.
 */
import { connect } from 'node:net'
import type { PostgresClient } from './database.ts'

/** The code of a cancel request, in place of a protocol version. */
const cancelCode = 80877102
/** How long to wait for the server to accept the request, in milliseconds. */
const cancelTimeoutMs = 5000

/**
 * Send a cancel request on a separate connection. The statement then fails with `57014`; if the
 * request is lost, it continues. Clients other than those of `pg` have no keys, and get no request.
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
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy())
  socket.unref()
  socket.write(request) // the server closes the socket; PgBouncer 1.18 crashes if the client does
}

/** The needed fields of a `pg` client. */
interface Keys extends PostgresClient {
  readonly host: string
  readonly port: number
  readonly processID: number
  readonly secretKey: number
}
