/** Buttons, fields and choices, as all views have them. */
import type { Signal } from '@preact/signals'
import type { ComponentProps, RefObject, VNode } from 'preact'

/** A button; with the class `more` one within a text. */
export const Button = (props: ComponentProps<'button'>): VNode => <button type="button" class="plain" {...props} />

interface ChoiceProps<T> {
  readonly label: string
  readonly choices: readonly (readonly [T, string])[]
  readonly value: Signal<T>
}

/** One of some choices. */
export const Choice = <T,>({ label, choices, value }: ChoiceProps<T>): VNode => (
  <select
    aria-label={label}
    value={String(value.value)}
    onChange={({ currentTarget }) => {
      const chosen = choices[currentTarget.selectedIndex]
      if (chosen !== undefined) [value.value] = chosen
    }}
  >
    {choices.map(([choice, text]) => (
      <option value={String(choice)}>{text}</option>
    ))}
  </select>
)

interface SearchFieldProps {
  readonly label: string
  readonly placeholder: string
  readonly words: Signal<string>
  readonly field?: RefObject<HTMLInputElement | null>
  readonly typed?: () => void
  readonly onKeyDown?: (event: KeyboardEvent) => unknown
}

/** A field for words that are searched for. */
export const SearchField = ({
  label,
  placeholder,
  words,
  field,
  typed,
  onKeyDown = () => {},
}: SearchFieldProps): VNode => (
  <input
    {...{ type: 'search', placeholder, ref: field ?? null, value: words.value, onKeyDown }}
    aria-label={label}
    onInput={({ currentTarget }) => {
      words.value = currentTarget.value
      typed?.()
    }}
  />
)

interface NumbersProps {
  readonly label: string
  readonly headings: readonly string[]
  /** The name of each row, and its cells. */
  readonly rows: readonly (readonly [name: VNode | string, cells: readonly string[]])[]
}

/** A table of numbers: the first column has names. */
export const Numbers = ({ label, headings: [first, ...others], rows }: NumbersProps): VNode => (
  <div class="scrolls" tabIndex={0} role="group" aria-label={label}>
    <table>
      <thead>
        <tr>
          <th>{first}</th>
          {others.map((heading) => (
            <th class="align-right">{heading}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, cells]) => (
          <tr>
            <td>{name}</td>
            {cells.map((cell) => (
              <td class="align-right">{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
