export { isLoopback, whyRefused, type GuardedHeaders } from './guard.ts'
