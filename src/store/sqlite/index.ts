export { backupSqlite, type BackupOptions } from './backup.ts'
export { sqliteStore, type SqliteOptions } from './store.ts'
