export { decompress, startProxy, type Proxy, type ProxyOptions, type Upstream } from './proxy.ts'
