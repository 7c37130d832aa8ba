export { startProxy, type Proxy, type ProxyOptions } from './proxy.ts'
