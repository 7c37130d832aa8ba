export { decompress, startProxy, type Proxy, type ProxyOptions, type Upstream } from './proxy.ts'
export { vertexUrl } from './vertex.ts'
export { beginRun, type Run } from './run.ts'
