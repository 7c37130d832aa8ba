/** What the scripts import that tests give to processes of their own as text. */
export * from '../src/index.ts'
export { run, scriptedModel, sessionHandler, tool } from '../src/run/index.ts'
export { storeTask } from '../src/store/fault.ts'
export { verifyLog } from '../src/store/index.ts'
export { compactSqlite, sqliteStore } from '../src/store/sqlite/index.ts'
