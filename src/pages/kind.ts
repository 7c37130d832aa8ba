/**
 * Page kinds for memory management: the kind that is evident from a message, residency levels, and how far each kind may be
 * reduced. Constraint, plan and preference are guarantees for context derivation, so they are never inferred: only an
 * explicit tag on append sets them.
 *
 * Source  ClawVM (arXiv 2604.10352), codetether-agent `session/pages.rs`
 */
import { ownField } from '../json/index.ts'

/** All page kinds. The index of a kind is its code. */
export const pageKinds = ['bootstrap', 'constraint', 'plan', 'preference', 'evidence', 'conversation'] as const
Object.freeze(pageKinds) // codes are indexes into this list

/**
 * The kind of an entry for memory management. `bootstrap`: basic instructions. `constraint`: a rule
 * that must stay in force. `plan`: steps done and remaining. `preference`: the user's preferences.
 * `evidence`: tool output. `conversation`: everything else.
 */
export type PageKind = (typeof pageKinds)[number]

/** All residency levels, from the full page to the least. */
export const residencyLevels = ['full', 'compressed', 'structured', 'pointer'] as const
Object.freeze(residencyLevels)

/**
 * How much of a page is in a derived context. `full`: all content. `compressed`: shortened text.
 * `structured`: typed fields. `pointer`: one line that says it exists and how to recall it.
 */
export type ResidencyLevel = (typeof residencyLevels)[number]

/**
 * Whether a value is a page kind.
 *
 * @param value any value
 * @returns true for one of `pageKinds`
 */
export const isPageKind = (value: unknown): value is PageKind => typeof value === 'string' && codes[value] !== undefined

/**
 * The page kind of a message of any shape. A system or developer role gives `bootstrap`; a tool role, or any
 * `tool_result` part, gives `evidence`; everything else is `conversation`, including the library's own system or
 * developer message about an interrupted run (`meta.indelible.interrupted`). Never throws on plain data.
 *
 * Cost    O(parts)
 *
 * @param message any value
 * @example
 * classify({ role: 'system', content: 'Be brief.' }) // => 'bootstrap'
 */
export const classify = (message: unknown): PageKind => {
  if (typeof message !== 'object' || message === null) return 'conversation'
  const role = ownField(message as Shape, 'role')
  if (role === 'system' || role === 'developer') return saysInterrupted(message) ? 'conversation' : 'bootstrap'
  if (role === 'tool') return 'evidence'
  const content = ownField(message as Shape, 'content')
  return Array.isArray(content) && content.some(isToolResult) ? 'evidence' : 'conversation'
}

interface Shape {
  readonly role?: unknown
  readonly meta?: unknown
  readonly indelible?: unknown
  readonly interrupted?: unknown
  readonly content?: unknown
  readonly type?: unknown
}

const isToolResult = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && ownField(part as Shape, 'type') === 'tool_result'

const saysInterrupted = (message: object): boolean => {
  const meta = ownField(message as Shape, 'meta')
  const ours = typeof meta === 'object' && meta !== null ? ownField(meta as Shape, 'indelible') : undefined
  return typeof ours === 'object' && ours !== null && ownField(ours as Shape, 'interrupted') === true
}

/** The code of a page kind: its index in `pageKinds`. Throws a TypeError for anything else. */
export const codeOf = (kind: PageKind): number => {
  const code = typeof kind === 'string' ? codes[kind] : undefined
  if (code !== undefined) return code
  const found = typeof kind === 'string' ? JSON.stringify(kind) : `a ${typeof kind}`
  throw new TypeError(`${found} is not a page kind; expected one of ${kindList}`)
}

export const kindOfCode = (code: number): PageKind => pageKinds[code] as PageKind

/**
 * The lowest level at which a derived context may hold a page of this kind.
 *
 * @returns `structured` for bootstrap and constraint, otherwise `pointer`
 */
export const minFidelity = (kind: PageKind): ResidencyLevel => {
  const path = degradationPath(kind)
  return path[path.length - 1] as ResidencyLevel
}

/**
 * The levels of a page as space runs out, from `full` down to its minimum.
 *
 * @returns the levels, frozen
 */
export const degradationPath = (kind: PageKind): readonly ResidencyLevel[] => {
  codeOf(kind) // throws
  return paths[kind]
}

const kindList = pageKinds.join(', ')

const codes: { readonly [kind: string]: number } = Object.freeze(
  Object.assign(Object.create(null) as object, Object.fromEntries(pageKinds.map((kind, code) => [kind, code]))),
)

const toStructured: readonly ResidencyLevel[] = Object.freeze(['full', 'structured'] as const)
const planPath: readonly ResidencyLevel[] = Object.freeze(['full', 'structured', 'pointer'] as const)
const allLevels: readonly ResidencyLevel[] = Object.freeze([...residencyLevels])

const paths: { readonly [Kind in PageKind]: readonly ResidencyLevel[] } = Object.freeze({
  bootstrap: toStructured,
  constraint: toStructured,
  plan: planPath,
  preference: allLevels,
  evidence: allLevels,
  conversation: allLevels,
})
