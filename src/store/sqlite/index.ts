export { sqliteStore, type SqliteOptions } from './store.ts'
