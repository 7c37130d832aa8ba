export type { PostgresClient, PostgresPool } from './database.ts'
export { postgresStore, type PostgresOptions } from './store.ts'
