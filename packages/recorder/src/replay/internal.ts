/** For the other packages of this repository, which are released together. Not a public API. */
export { fetchFrom } from './fetch.ts'
export { ignorable, type Ignored } from './matching.ts'
export { serveFetch } from './server.ts'
export { callsOfSessions } from './session-calls.ts'
