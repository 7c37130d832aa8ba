export { detectHistoryUse, type HistoryEvidence, type HistoryUse, type HistoryUseOptions } from './detect.ts'
export { historyPatterns, type HistoryPattern } from './pattern.ts'
