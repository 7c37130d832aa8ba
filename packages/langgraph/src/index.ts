export { IndelibleSaver, type PruneOptions, type SaverOptions } from './saver.ts'
export { copyCheckpoints } from './migrate.ts'
