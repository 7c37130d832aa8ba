/** What a view shows before its content: its title with the way back, and whether the content is there yet. */
import type { ComponentChildren, VNode } from 'preact'
import { sentence } from '../format-text.ts'
import { hrefOf, type Route } from '../route.ts'
import type { LoadState } from '../data/use-loaded.ts'

interface BackProps {
  readonly to: Route
  readonly label: string
}

export const Back = ({ to, label }: BackProps): VNode => (
  <a class="back" href={hrefOf(to)} aria-label={label}>
    ←
  </a>
)

interface ViewHeadProps extends BackProps {
  readonly title: string
  /** Elements beside the title. */
  readonly beside?: ComponentChildren
  /** The second line. */
  readonly children?: ComponentChildren
}

/** The head of a view that is of no single session. */
export const ViewHead = ({ to, label, title, beside, children }: ViewHeadProps): VNode => (
  <header class="top">
    <div class={children === undefined ? 'top-line last' : 'top-line'}>
      <Back to={to} label={label} />
      <h1>{title}</h1>
      {beside}
    </div>
    {children === undefined ? null : <div class="top-line second">{children}</div>}
  </header>
)

interface LoadedProps<T> extends LoadState<T> {
  /** The text that is shown while the value is loading. */
  readonly reading: string
  readonly children: (value: T) => ComponentChildren
}

/** What was loaded; until it is there, or where it can't be, a sentence. */
export const Loaded = <T,>({ value, fault, reading, children }: LoadedProps<T>): VNode =>
  fault !== undefined ? (
    <p class="nothing" role="alert">
      {sentence(fault)}
    </p>
  ) : value === undefined ? (
    <p class="nothing">{reading}</p>
  ) : (
    <>{children(value)}</>
  )
