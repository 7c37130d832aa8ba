/** A name and its value, in a list of fields. */
import type { ComponentChildren, VNode } from 'preact'
import type { Head } from 'indelible/store'

export const Field = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }): VNode => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** A head as one word. */
export const HeadText = ({ head: { size, root } }: { readonly head: Head }): VNode => (
  <code class="root">{`${size}:${root}`}</code>
)

/** Marks and colours, each with what it means. */
export const Legend = ({ marks }: { readonly marks: readonly (readonly [mark: VNode, words: string])[] }): VNode => (
  <p class="legend">
    {marks.map(([mark, words]) => (
      <span>
        {mark} {words}
      </span>
    ))}
  </p>
)
