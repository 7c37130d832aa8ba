export { IndelibleSaver, type SaverOptions } from './saver.ts'
export { copyCheckpoints } from './migrate.ts'
