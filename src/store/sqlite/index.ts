export { backupSqlite, type BackupOptions } from './backup.ts'
export { compactSqlite, type Compacted, type CompactOptions } from './compact.ts'
export { sqliteStore, type SqliteOptions } from './store.ts'
