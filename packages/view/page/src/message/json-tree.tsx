/** JSON as a tree that opens and closes. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../elements/controls.tsx'
import { Code } from './code.tsx'
import { oneLine, visibleText } from '../format-text.ts'

/** Deeper objects are closed at first. */
const openDepth = 1
/** The most members shown at once. */
const mostMembers = 100
/** A text longer than this is cut, until somebody asks for the rest. */
const longText = 300

export const JsonTree = ({ value, depth = 0 }: { readonly value: unknown; readonly depth?: number }): VNode => {
  const [most, setMost] = useState(mostMembers)
  const [open, setOpen] = useState(depth < openDepth)
  if (typeof value === 'string')
    return value.length > longText || value.includes('\n') ? (
      <Code text={visibleText(value)} label="text" />
    ) : (
      <span class="json-string">{JSON.stringify(visibleText(value))}</span>
    )
  if (typeof value !== 'object' || value === null) return <span class="json-value">{String(value)}</span>
  const members = Array.isArray(value)
    ? value.map((item, index) => [String(index), item] as const)
    : Object.entries(value)
  const [start, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (members.length === 0) return <span class="json-mark">{`${start}${end}`}</span>
  return (
    <details class="json" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="json-mark">
          {open ? start : `${start} ${oneLine(JSON.stringify(value).slice(1, 160), 80)} ${end}`}
        </span>
      </summary>
      {open ? (
        <ul>
          {members.slice(0, most).map(([key, item]) => (
            <li key={key}>
              <span class="json-key">{visibleText(key)}</span> <JsonTree value={item} depth={depth + 1} />
            </li>
          ))}
          {members.length > most ? (
            <li>
              <Button class="more" onClick={() => setMost(most * 10)}>
                {members.length - most} more
              </Button>
            </li>
          ) : null}
        </ul>
      ) : null}
    </details>
  )
}

/** The value of a text that is an object or an array in JSON; undefined of any other text. */
export const jsonIn = (text: string): object | undefined => {
  const start = text.trimStart()[0]
  if ((start !== '{' && start !== '[') || text.length > 2_000_000) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
