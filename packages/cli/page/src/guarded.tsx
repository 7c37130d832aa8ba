/** Contains the failure of one part of the page: the other parts are still shown. */
import { Component, type ComponentChildren } from 'preact'

interface Props {
  readonly children?: ComponentChildren
}

/** Shows a sentence in the place of children that could not be shown. */
export class Guarded extends Component<Props, { readonly failed?: boolean }> {
  static override getDerivedStateFromError(): { readonly failed: boolean } {
    return { failed: true }
  }

  override render(): ComponentChildren {
    return this.state.failed === true ? <p class="gap bad">This can’t be shown.</p> : this.props.children
  }
}
