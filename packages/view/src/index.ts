export { htmlOf, type HtmlOptions } from './server/html.ts'
export { startView, type View, type ViewOptions } from './server/server.ts'
