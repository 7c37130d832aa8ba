/** Starts the page, from a server or from the file that it stands in. */
import { render } from 'preact'
import { App, Fault } from './app.tsx'
import { embeddedSource } from './embedded.ts'
import { enter, servedSource } from './served.ts'
import 'uplot/dist/uPlot.min.css'
import './style.css'

const root = document.getElementById('page') as HTMLElement
const embedded = embeddedSource()
if (embedded !== undefined) render(<App source={embedded} />, root)
else
  enter().then(
    () => render(<App source={servedSource()} />, root),
    (cause: unknown) => render(<Fault text={cause instanceof Error ? cause.message : String(cause)} />, root),
  )
