/** A name and its value, in a list of fields. */
import type { ComponentChildren, VNode } from 'preact'
import type { Head } from 'indelible/store'

export const Field = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }): VNode => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** Facts in a row. The dot before a fact stays with it: no line ends with one. */
export const Facts = ({ text }: { readonly text: string }): VNode => (
  <>
    {text.split(/ (?=· )/).map((fact, index) => {
      const [, start = '', rest = fact] = /^(· \S+)(.*)$/s.exec(fact) ?? []
      return index === 0 ? (
        fact
      ) : (
        <>
          {' '}
          <span class="fact">{start}</span>
          {rest}
        </>
      )
    })}
  </>
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
