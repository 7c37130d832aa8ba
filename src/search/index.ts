export type { IndexFault, SearchFault } from './fault.ts'
export type { QuestionSearch, SearchHit, SearchOptions, SearchPage, SessionsFound } from './hit.ts'
export { dropIndex, indexStore } from './index-store.ts'
export { searchStore } from './search.ts'
