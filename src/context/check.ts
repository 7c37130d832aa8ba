/** Checks of the arguments from which contexts are derived. A wrong value would otherwise fail far from its cause. */
import { describe } from '../json/index.ts'
import type { View } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import type { Note } from '../notes/internal.ts'
import type { Sequence } from '../sequence/index.ts'
import { tokens } from './counting/budget.ts'

/** Throws a TypeError if a value is not a view. */
export const checkView = (call: string, view: View<Message>): void => {
  if (typeof (view as Partial<View<Message>> | undefined)?.positionAt !== 'function')
    throw new TypeError(
      `${call} expects a view, such as history.view() or session.conversation(), found ${describe(view)}`,
    )
}

/** The note at an index. Throws a TypeError if the value is not a note. */
export const noteAt = (notes: Sequence<Note>, index: number): Note => {
  const note: Partial<Note> | null | undefined = notes.at(index)
  if (typeof note?.type === 'string') return note as Note
  throw new TypeError(`notes[${index}] is ${describe(note)}; expected a note with a \`type\``)
}

/** The options of deriving that are checked here. */
type Checked = {
  readonly [Name in 'notes' | 'prices' | 'estimate' | 'tokenizer' | 'previous' | 'tools' | 'markOf']?: unknown
}

/** Throws a TypeError that names an option of the wrong type. The notes themselves are not read. */
export const checkDeriving = (call: string, options: Checked): void => {
  for (const [name, isValid, expected] of checks) {
    const value = options[name]
    if (value !== undefined && !isValid(value))
      throw new TypeError(`${call}: \`${name}\` is ${describe(value)}; expected ${expected}`)
  }
  if (options.prices === undefined) return
  const { cached, fresh } = Object(options.prices) as { readonly cached: number; readonly fresh: number }
  tokens(`${call}: prices.cached`, cached)
  tokens(`${call}: prices.fresh`, fresh)
}

const isList = (value: unknown): boolean => {
  const { at, length } = Object(value) as { readonly at?: unknown; readonly length?: unknown }
  return typeof at === 'function' && typeof length === 'number'
}

const isContext = (value: unknown): boolean => isList((Object(value) as { readonly messages?: unknown }).messages)

const areTools = (value: unknown): boolean =>
  Array.isArray(value) && value.every((tool) => typeof (Object(tool) as { name?: unknown }).name === 'string')

const isFunction = (value: unknown): boolean => typeof value === 'function'

const checks: readonly (readonly [name: keyof Checked, isValid: (value: unknown) => boolean, expected: string])[] = [
  ['notes', isList, 'the notes of the record, such as session.notes()'],
  ['previous', isContext, 'the context of the last call, as orThrow(deriveContext(…)) returns it'],
  ['tools', areTools, 'a list of tools, each with a `name`'],
  ['estimate', isFunction, 'a function'],
  ['tokenizer', isFunction, 'a function'],
  ['markOf', isFunction, 'a function'],
]
