/** The rows of docs/errors.md. */
import { readFileSync } from 'node:fs'
import { root } from '../scripts/run.ts'

/** A row of the page: a fault, when it happens, and what to do. */
export interface ErrorRow {
  /** The entry that declares the fault. */
  readonly entry: string
  readonly tag: string
  readonly when: string
  readonly todo: string
}

export const errorRows: readonly ErrorRow[] = readFileSync(`${root}docs/errors.md`, 'utf8')
  .split(/^## /m)
  .slice(1)
  .flatMap((section) => {
    const entry = /^.+: `(.+)`$/m.exec(section)?.[1] ?? 'no entry'
    return [...section.matchAll(/^\| `(\w+)` \| (.+) \| (.+) \|$/gm)].map(([, tag = '', when = '', todo = '']) => ({
      entry,
      tag,
      when,
      todo,
    }))
  })
