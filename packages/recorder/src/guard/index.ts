export { isLoopback, refused, type GuardedHeaders } from './guard.ts'
