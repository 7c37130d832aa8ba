/** Forwards one client request to its provider as it arrives, and the answer back. */
import type { IncomingMessage, OutgoingMessage, ServerResponse } from 'node:http'
import { isLeft } from 'indelible/internal/json'
import type { ObservedCall } from '../observed-call.ts'
import type { Connections } from './connections.ts'
import { answerHeaders, framingOf, headerOf, headersFor, reasonIn, trailersOf } from './headers.ts'
import { bodyOf, type Refusal, type Target } from './target.ts'

/**
 * Forward a request. Its connection to the provider is reused only after the request was written
 * completely and answered completely; otherwise it is destroyed.
 */
export const forward = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  to: Target,
  connections: Connections,
  observe: () => ObservedCall | undefined,
): void => {
  const framing = framingOf(incoming)
  if (isLeft(framing)) return refuse(incoming, outgoing, framing.left)
  const asking = connections.ask(to, {
    ...(incoming.method !== undefined && { method: incoming.method }),
    headers: headersFor(incoming, to.url.host, framing.right),
  })
  const call = observe()
  let written = false
  let over = false
  incoming.on('data', (chunk: Buffer) => {
    call?.piece(chunk)
    if (over || asking.write(chunk)) return
    incoming.pause()
    asking.once('drain', () => incoming.resume())
  })
  incoming.on('end', () => {
    written = true
    call?.sent()
    try {
      if (!over) endLike(incoming, asking)
    } catch (cause) {
      onBroken(cause) // Node's parser accepts some input that it refuses to write
    }
  })
  incoming.on('close', () => {
    if (!written) call?.sent(new Error('the client aborted its request'))
  })
  /** Stop forwarding the request. The rest is still read and recorded. */
  const end = (): void => {
    over = true
    asking.destroy()
    incoming.resume()
  }
  const onBroken = (cause: unknown): void => {
    if (over) return
    end()
    call?.fail(cause)
    if (outgoing.headersSent) outgoing.destroy()
    else refuse(incoming, outgoing, { status: 502, reason: `${to.url.origin} can't be reached: ${String(cause)}` })
  }
  asking.on('error', onBroken)
  asking.on('upgrade', (_, socket) => {
    socket.destroy()
    onBroken('it switched to another protocol without being asked')
  })
  incoming.on('error', onBroken)
  outgoing.on('close', () => {
    if (outgoing.writableFinished) return
    call?.fail('the client closed the connection')
    end()
  })
  asking.on('response', (answer) => {
    answer.on('error', onBroken)
    const statusCode = answer.statusCode as number
    call?.answered(statusCode, (name) => headerOf(answer, name))
    try {
      outgoing.writeHead(statusCode, reasonIn(answer), answerHeaders(answer))
    } catch (cause) {
      return onBroken(cause) // Node's client accepts some statuses and headers that its server refuses to write
    }
    // Send the headers with the first chunk of the body, if they arrived together.
    let isBegun = false
    setImmediate(() => {
      if (!isBegun) outgoing.flushHeaders()
    })
    answer.on('data', (chunk: Buffer) => {
      isBegun = true
      call?.chunk(chunk)
      if (!outgoing.write(chunk)) {
        answer.pause()
        outgoing.once('drain', () => answer.resume())
      }
    })
    answer.on('end', () => {
      isBegun = true
      if (over) return
      try {
        endLike(answer, outgoing)
      } catch (cause) {
        return onBroken(cause)
      }
      call?.end()
      // If a provider answers before it has the whole request, it might take the rest for a new one.
      if (!written) end()
    })
  })
}

/** End a message like the other one. Node omits the trailers if the body is not chunked. */
const endLike = (ended: IncomingMessage, message: OutgoingMessage): void => {
  message.addTrailers(trailersOf(ended))
  message.end()
}

/** Answer without calling the provider. */
export const refuse = (incoming: IncomingMessage, outgoing: ServerResponse, { status, reason }: Refusal): void => {
  incoming.resume()
  outgoing.writeHead(status, { 'content-type': 'application/json' })
  outgoing.end(bodyOf(reason))
}
