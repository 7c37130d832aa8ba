export type { Api, RecordedApi, Request, Wire } from './api.ts'
export { errorIn } from './api.ts'
export { apis } from './apis.ts'
