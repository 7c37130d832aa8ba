export { backupSqlite } from './backup.ts'
export { compactSqlite, type CompactResult } from './compact.ts'
export { sqliteStore, type SqliteOptions } from './store.ts'
