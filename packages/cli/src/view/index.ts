export { htmlOf, type HtmlOptions } from './html.ts'
export { startView, type View, type ViewOptions } from './server.ts'
export {
  blocksInFrames,
  exportedId,
  framedBlocks,
  mostBlocks,
  mostOverviews,
  mostRows,
  type Entered,
  type Entering,
  type ExportedView,
  type Failure,
  type FoundMessage,
  type FoundMessages,
  type HtmlSelection,
  type Overview,
  type SessionList,
  type ViewedEvidence,
  type ViewedRow,
  type ViewedSession,
  type ViewedStore,
} from './protocol.ts'
