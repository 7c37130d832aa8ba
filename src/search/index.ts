export type { IndexFault, SearchFault } from './fault.ts'
export type { SearchHit, SearchOptions, SearchPage } from './hit.ts'
export { dropIndex, indexStore } from './index-store.ts'
export { searchStore } from './search.ts'
