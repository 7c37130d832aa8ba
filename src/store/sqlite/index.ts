export { backupSqlite, type BackupOptions } from './backup.ts'
export { compactSqlite, type CompactResult, type CompactOptions } from './compact.ts'
export { sqliteStore, type SqliteOptions } from './store.ts'
