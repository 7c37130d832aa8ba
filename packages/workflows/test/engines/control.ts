/**
 * What stands behind the models and tools of workers that run in processes of their own: a server on loopback that a test
 * scripts. It says what the model answers, and holds a worker in the middle of a stream or of a tool.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Message } from 'indelible/message'

/** What the model says to the next request: a message, held in its middle or not; or an HTTP failure. */
export type Reply =
  | { readonly line: Message; readonly hold?: boolean }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }

export interface Control {
  readonly url: string
  /** What the model says next. Without one it waits. */
  readonly say: (...replies: readonly Reply[]) => void
  /** The texts of the messages of each request that the model has answered, in order. */
  readonly requests: (readonly string[])[]
  /** Milliseconds, by the clock of this process, at which the model was asked. */
  readonly asked: number[]
  /** A worker that stands in the middle of a stream or a tool; waits for one. */
  readonly held: (what: 'model' | 'tool') => Promise<{ readonly release: (text?: string) => void }>
  readonly close: () => Promise<void>
}

export const controlServer = async (): Promise<Control> => {
  const replies: Reply[] = []
  const requests: (readonly string[])[] = []
  const asked: number[] = []
  const unanswered: (() => void)[] = []
  const holds: { readonly what: string; readonly response: ServerResponse }[] = []
  const wakes: (() => void)[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const what = request.url?.slice(1) ?? ''
      if (what === 'model') {
        const answer = (): void => {
          const reply = replies.shift()
          if (reply === undefined) return void unanswered.push(answer)
          asked.push(Date.now())
          if ('status' in reply) return void response.writeHead(reply.status, reply.headers).end()
          requests.push(JSON.parse(body) as readonly string[])
          response.end(JSON.stringify(reply))
        }
        answer()
      } else {
        holds.push({ what: what.replace('hold-', ''), response })
        for (const wake of wakes.splice(0)) wake()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    asked,
    say: (...more) => {
      replies.push(...more)
      for (const answer of unanswered.splice(0)) answer()
    },
    held: async (what) => {
      for (;;) {
        // A worker that was killed has left its request behind.
        const index = holds.findIndex((hold) => hold.what === what && !hold.response.destroyed)
        const [hold] = index === -1 ? [] : holds.splice(index, 1)
        if (hold !== undefined) return { release: (text = '') => void hold.response.end(text) }
        await new Promise<void>((resolve) => wakes.push(resolve))
      }
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
