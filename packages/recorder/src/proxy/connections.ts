/** Connections to providers. */
import { request as httpRequest, Agent as HttpAgent, type ClientRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest, Agent as HttpsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import type { Target } from './target.ts'

/** Makes requests to providers. */
export interface Connections {
  /** A request on a shared connection. */
  readonly ask: (to: Target, options: Pick<RequestOptions, 'method' | 'headers'>) => ClientRequest
  /** A request on a separate connection. */
  readonly askAlone: (to: Target, options: Pick<RequestOptions, 'method' | 'headers'>) => ClientRequest
  readonly close: () => void
}

/** Connections through the environment's proxies, if Node supports `proxyEnv` (22.21, 24.5 and later). */
export const openConnections = (): Connections => {
  const agentsFor = (keepAlive: boolean) => {
    const options = { keepAlive, proxyEnv: process.env }
    return { 'http:': closeUnasked(new HttpAgent(options)), 'https:': closeUnasked(new HttpsAgent(options)) }
  }
  const [shared, alone] = [agentsFor(true), agentsFor(false)]
  const requestWith =
    (agents: typeof shared) =>
    ({ url, path }: Target, options: Pick<RequestOptions, 'method' | 'headers'>): ClientRequest =>
      (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        ...options,
        path,
        agent: agents[url.protocol as keyof typeof shared],
      })
  return {
    ask: requestWith(shared),
    askAlone: requestWith(alone),
    close: () => {
      for (const agent of [...Object.values(shared), ...Object.values(alone)]) agent.destroy()
    },
  }
}

/** Closes an idle connection that receives data, which the next request would take for its answer. */
const closeUnasked = <A extends HttpAgent>(agent: A): A => {
  const keep = agent.keepSocketAlive.bind(agent)
  const reuse = agent.reuseSocket.bind(agent)
  const listening = new WeakMap<Duplex, () => void>()
  agent.keepSocketAlive = (socket) => {
    const kept = keep(socket) as unknown
    const end = (): void => void socket.destroy()
    listening.set(socket, end)
    socket.on('data', end)
    return kept
  }
  agent.reuseSocket = (socket, request) => {
    const end = listening.get(socket)
    if (end !== undefined) socket.off('data', end)
    reuse(socket, request)
  }
  return agent
}
