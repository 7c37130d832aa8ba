export { startProxy, type Proxy, type ProxyOptions } from './proxy.ts'
export type { Upstream } from './target.ts'
