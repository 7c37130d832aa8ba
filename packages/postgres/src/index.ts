export type { PostgresClient, PostgresPool } from './database.ts'
export { storeIdentity } from './identity.ts'
export { postgresStore, type PostgresOptions } from './store.ts'
