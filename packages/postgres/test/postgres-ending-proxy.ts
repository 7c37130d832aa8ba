/**
 * A proxy before a PostgreSQL server that ends connections as a fail-over can: the server's goodbye (FATAL 57P01) comes in
 * the same chunk as the message that makes a connection ready for its first statement.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** ReadyForQuery, idle. Source: https://www.postgresql.org/docs/18/protocol-message-formats.html */
const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

const goodbye = (() => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0', 'utf8')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(fields.length + 4)
  return Buffer.concat([Buffer.from('E'), length, fields])
})()

export interface EndingProxy {
  readonly url: string
  /** The number of connections that were ended. */
  readonly ended: () => number
  readonly close: () => Promise<void>
}

/** @param ends whether to end a connection, by its number */
export const endingProxy = async (server: string, ends: (number: number) => boolean): Promise<EndingProxy> => {
  const target = new URL(server)
  const sockets = new Set<Socket>()
  let number = 0
  let ended = 0
  const proxy = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let isEnding = ends(number++)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket))
    }
    client.on('data', (chunk) => upstream.write(chunk)).on('close', () => upstream.destroy())
    upstream
      .on('data', (chunk: Buffer) => {
        if (!isEnding || !chunk.subarray(-ready.length).equals(ready)) return client.write(chunk)
        isEnding = false
        ended += 1
        return client.end(Buffer.concat([chunk, goodbye]))
      })
      .on('close', () => client.destroySoon())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(server)
  url.port = String((proxy.address() as AddressInfo).port)
  return {
    url: url.href,
    ended: () => ended,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}
