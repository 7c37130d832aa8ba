/** Contains the failure of one part of the page: the other parts are still shown. */
import { Component, type ComponentChildren } from 'preact'
import { sentence } from '../format-text.ts'
import { reasonOf } from '../data/source.ts'

interface Props {
  /** The part in words, as the sentence of its failure begins. Default: `This`. */
  readonly name?: string
  readonly children?: ComponentChildren
}

/** Shows a sentence in the place of children that could not be shown. */
export class ErrorBoundary extends Component<Props, { readonly because?: string }> {
  static override getDerivedStateFromError(cause: unknown): { readonly because: string } {
    return { because: reasonOf(cause) }
  }

  override render(): ComponentChildren {
    const { because } = this.state
    const { name, children } = this.props
    if (because === undefined) return children
    return (
      <p class="gap bad" role="alert">
        {name ?? 'This'} can’t be shown{name === undefined ? '.' : `: ${sentence(because)}`}
      </p>
    )
  }
}
