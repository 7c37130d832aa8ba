/** HTTP by hand: a provider that says what it parsed, and clients that write odd bytes. It runs on any Node. */
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'

/** A request as a provider parsed it. */
export interface Parsed {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly body: string
  /** Whether all of the body came. */
  readonly whole: boolean
  readonly headers: IncomingMessage['headers']
}

/** A provider on loopback. Its answers name the request that they answer. */
export interface Provider {
  readonly url: string
  /** What it parsed, in the order of the requests' ends. */
  readonly parsed: readonly Parsed[]
  /** Resolves to all that was parsed, and forgets it, once these requests are among it. */
  readonly take: (ids: readonly string[]) => Promise<readonly Parsed[]>
  readonly close: () => Promise<void>
}

/**
 * Start a provider. The last part of a path says how it answers: `early` before it reads the body, `late` after a turn of
 * the loop, `end` closes the connection, anything else once the body is there. It accepts WebSockets at `socket` and echoes
 * what comes; elsewhere it refuses them, as any request.
 */
export const startProvider = async (): Promise<Provider> => {
  const parsed: Parsed[] = []
  let wake = (): void => {}
  const saw = (one: Parsed): void => {
    parsed.push(one)
    wake()
  }
  const idOf = ({ headers }: IncomingMessage): string => String(headers['x-id'])
  const server = createServer((incoming, outgoing) => {
    const { method = '', url: path = '', headers } = incoming
    const kind = /(\w*)(?:\?.*)?$/.exec(path)?.[1]
    const answer = (): void => {
      if (kind === 'end') outgoing.setHeader('connection', 'close')
      outgoing.end(JSON.stringify({ id: idOf(incoming), method, path }))
    }
    let body = ''
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')))
    incoming.on('error', () => undefined)
    incoming.on('close', () => {
      saw({ id: idOf(incoming), method, path, body, whole: incoming.complete, headers })
    })
    if (kind === 'early') answer()
    else incoming.on('end', () => (kind === 'late' ? setImmediate(answer) : answer()))
  })
  server.on('upgrade', (incoming, socket, head) => {
    const { method = '', url: path = '', headers } = incoming
    saw({ id: idOf(incoming), method, path, body: head.toString('latin1'), whole: true, headers })
    socket.on('error', () => socket.destroy())
    if (path.endsWith('socket')) {
      const accepted = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade']
      socket.write([...accepted, `x-id: ${idOf(incoming)}`, '', ''].join('\r\n'))
      socket.write(head)
      socket.pipe(socket)
      return
    }
    // It keeps the connection: what comes on it next is taken for a request, or for the body of this one.
    const text = JSON.stringify({ id: idOf(incoming), method, path })
    socket.write(`HTTP/1.1 403 Forbidden\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
    server.emit('connection', socket)
  })
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    parsed,
    take: async (ids) => {
      while (!ids.every((id) => parsed.some((parsed) => parsed.id === id)))
        await new Promise<void>((resolve) => (wake = resolve))
      return parsed.splice(0)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** An answer as a client reads it. */
export interface Answer {
  /** 0: the connection closed before one came. */
  readonly status: number
  readonly body: string
}

/** A connection of a client. */
export class Client {
  readonly #socket: Socket
  #heard = ''
  #over = false
  #wake = (): void => {}

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1')
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (bytes: Buffer) => {
      this.#heard += bytes.toString('latin1')
      this.#wake()
    })
    this.#socket.on('error', () => undefined)
    this.#socket.on('close', () => {
      this.#over = true
      this.#wake()
    })
  }

  /** Write bytes, in pieces that may arrive apart. */
  async write(...pieces: readonly string[]): Promise<void> {
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await new Promise((resolve) => setImmediate(resolve))
      if (!this.#socket.destroyed) this.#socket.write(piece, 'latin1')
    }
  }

  /** The next answer that is not 100. `head`: it answers a HEAD request. */
  async answer(head = false): Promise<Answer> {
    for (;;) {
      const lines = await this.#until(() => this.#heard.indexOf('\r\n\r\n'), 4)
      if (lines === undefined) return { status: 0, body: '' }
      const status = Number(lines.slice(9, 12))
      if (status === 100) continue
      const length = /^content-length: *(\d+)/im.exec(lines)?.[1]
      if (head || status === 101 || status === 204 || status === 304) return { status, body: '' }
      if (length !== undefined) return { status, body: (await this.#until(() => this.#enough(Number(length)))) ?? '' }
      if (/^transfer-encoding: *chunked/im.test(lines)) return { status, body: await this.#chunks() }
      await this.closed()
      return { status, body: this.#heard }
    }
  }

  /** So many bytes, such as of a WebSocket. */
  async bytes(count: number): Promise<string | undefined> {
    return this.#until(() => this.#enough(count))
  }

  /** Resolves once the connection is closed. */
  async closed(): Promise<void> {
    await this.#until(() => -1)
  }

  /** What came and was not read. */
  get heard(): string {
    return this.#heard
  }

  /** Whether the other side has closed the connection. */
  get over(): boolean {
    return this.#over
  }

  end(): void {
    this.#socket.destroy()
  }

  #enough(count: number): number {
    return this.#heard.length >= count ? count : -1
  }

  async #chunks(): Promise<string> {
    let body = ''
    for (;;) {
      const size = Number.parseInt((await this.#until(() => this.#heard.indexOf('\r\n'), 2)) ?? '0', 16)
      const chunk = await this.#until(() => this.#enough(size + 2))
      body += chunk?.slice(0, -2) ?? ''
      if (size === 0) return body
    }
  }

  /** What was heard up to where `find` says, once it is there; undefined if the connection closes before. */
  async #until(find: () => number, more = 0): Promise<string | undefined> {
    for (;;) {
      const at = find()
      if (at !== -1) {
        const found = this.#heard.slice(0, at)
        this.#heard = this.#heard.slice(at + more)
        return found
      }
      if (this.#over) return undefined
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
