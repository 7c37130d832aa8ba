export { htmlOf, type HtmlOptions } from './html.ts'
export { startView, type View, type ViewOptions } from './server.ts'
export type { HtmlSelection } from './protocol.ts'
