/** Faults as sentences for people. Each folder has a table; to show faults of several folders, join their tables. */
import { ownField } from '../json/index.ts'

/** An object with a tag. */
export interface Tagged {
  /** The name of the fault. */
  readonly _tag: string
}

/** A sentence for each fault of a union, by its tag. */
export type Sentences<F extends Tagged> = {
  readonly [Tag in F['_tag']]: (fault: Extract<F, { readonly _tag: Tag }>) => string
}

/** A table of sentences for any faults. */
export type AnySentences = { readonly [tag: string]: (fault: never) => string }

/**
 * Look up the sentence of a fault.
 *
 * @param sentences the tables of all faults that may occur, joined
 * @returns its sentence; its tag and its plain fields if the tables have none
 */
export const sentenceOf = (sentences: AnySentences, fault: Tagged): string => {
  const sentence = ownField(sentences, fault._tag) as ((fault: Tagged) => string) | undefined
  return sentence === undefined ? reasonOf(fault) : sentence(fault)
}

/** The function that returns the sentence of each fault of a table. */
export const sentencesOf =
  <F extends Tagged>(sentences: Sentences<F>): ((fault: F) => string) =>
  (fault) =>
    sentenceOf(sentences, fault)

/**
 * An error or fault in words. Never throws.
 *
 * @returns the message of an Error; the tag and the plain fields of an object; otherwise the value as a string
 */
export const reasonOf = (cause: unknown): string => {
  let tag: unknown
  try {
    if (cause instanceof Error || typeof cause !== 'object' || cause === null) return textOf(cause)
    tag = ownField(cause as Tagged, '_tag')
    const fields = Object.entries(cause)
      .filter(([name, value]) => plainTypes.has(typeof value) && !(name === '_tag' && typeof value === 'string'))
      .slice(0, 6)
      .map(([name, value]) => `${name} ${JSON.stringify(value).slice(0, 200)}`)
      .join(', ')
    if (typeof tag === 'string') return fields === '' ? tag : `${tag} (${fields})`
    return fields === '' ? textOf(cause) : fields
  } catch {
    return typeof tag === 'string' ? tag : 'a value that has no text'
  }
}

const plainTypes: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
