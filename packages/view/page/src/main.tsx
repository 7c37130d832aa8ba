/** The page. Its sessions come from a server, or from the exported file that holds the page. */
import { render, type VNode } from 'preact'
import { App, Fault } from './app.tsx'
import { embeddedSource } from './data/embedded-source.ts'
import { ErrorBoundary } from './elements/error-boundary.tsx'
import { exchangeToken, hasToken, servedSource } from './data/served-source.ts'
import { reasonOf } from './data/source.ts'
import './style.css'

/** Show the page in its document. */
export const startPage = (): void => {
  const root = document.getElementById('page') as HTMLElement
  const show = (page: VNode): void => {
    root.replaceChildren() // it said that the page did not start
    render(<ErrorBoundary name="The page">{page}</ErrorBoundary>, root)
  }
  const embedded = embeddedSource()
  if (embedded !== undefined) return show(<App source={embedded} />)
  // Another address that the command printed, opened in this tab, only changes what follows the #.
  addEventListener('hashchange', () => hasToken() && location.reload())
  exchangeToken().then(
    () => show(<App source={servedSource()} />),
    (cause: unknown) => show(<Fault text={reasonOf(cause)} />),
  )
}
