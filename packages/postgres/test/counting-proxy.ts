/**
 * A proxy before a PostgreSQL server that counts round trips and can delay them. A round trip begins when a connection
 * sends something after the server's last answer: statements that are sent together count once.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** The function code of a simple query, and of a statement with values. Source: as `postgres-ending-proxy.ts`. */
const [simpleQuery, parse, bind] = ['Q', 'P', 'B'].map((code) => code.charCodeAt(0))

export interface CountingProxy {
  readonly url: string
  /** The number of round trips since the last call, except those that only send a notification. */
  readonly trips: () => number
  /** Notifications since the last call: they are sent in the background, once for many appends. */
  readonly notifications: () => number
  readonly close: () => Promise<void>
}

/** @param delay milliseconds that each direction takes. Default: 0 */
export const countingProxy = async (server: string, delay = 0): Promise<CountingProxy> => {
  const target = new URL(server)
  const sockets = new Set<Socket>()
  let [trips, notifications] = [0, 0]
  const later = (work: () => unknown): void => void (delay === 0 ? work() : setTimeout(work, delay))
  const proxy = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(target.port), host: target.hostname, noDelay: true })
    /** The names of this connection's prepared statements that notify. */
    const notifying = new Set<string>()
    let isAnswered = true
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket))
    }
    client
      .on('data', (chunk: Buffer) => {
        if (isAnswered && isNotification(chunk, notifying)) notifications += 1
        else if (isAnswered && chunk[0] !== 0x58) trips += 1 // X ends the connection
        isAnswered = false
        later(() => upstream.write(chunk))
      })
      .on('close', () => later(() => upstream.destroy()))
    upstream
      .on('data', (chunk: Buffer) => {
        isAnswered = true
        later(() => client.write(chunk))
      })
      .on('close', () => later(() => client.destroySoon()))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(server)
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    trips: () => [trips, (trips = 0)][0] as number,
    notifications: () => [notifications, (notifications = 0)][0] as number,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

/** Whether a chunk is `select pg_notify`. Prepared statements are known by their names. */
const isNotification = (chunk: Buffer, notifying: Set<string>): boolean => {
  const [code] = chunk
  const text = (from: number): string => chunk.toString('utf8', from, chunk.indexOf(0, from))
  if (code === simpleQuery) return text(5).includes('pg_notify')
  if (code === bind) return notifying.has(text(chunk.indexOf(0, 5) + 1))
  if (code !== parse) return false
  const name = text(5)
  if (!text(6 + Buffer.byteLength(name)).includes('pg_notify')) return false
  notifying.add(name)
  return true
}
