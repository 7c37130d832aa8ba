/** Faults as sentences for people. Each room has a table; callers that show faults of several rooms join them. */
import { ownField } from '../json/index.ts'

/** Anything with a tag that names it. */
export interface Tagged {
  /** Names the fault. */
  readonly _tag: string
}

/** A sentence for each fault of a union, by its tag. */
export type Sentences<F extends Tagged> = {
  readonly [Tag in F['_tag']]: (fault: Extract<F, { readonly _tag: Tag }>) => string
}

/** Tables of sentences, whichever faults they are for. */
export type AnySentences = { readonly [tag: string]: (fault: never) => string }

/**
 * Look up the sentence of a fault.
 *
 * @param sentences the tables of its room and of others, joined
 * @returns its sentence; where the tables have none, its tag and its plain fields
 */
export const sentenceOf = (sentences: AnySentences, fault: Tagged): string => {
  const sentence = ownField(sentences, fault._tag) as ((fault: Tagged) => string) | undefined
  return sentence === undefined ? reasonOf(fault) : sentence(fault)
}

/** The function that gives the sentence of each fault of a table. */
export const sentencesOf =
  <F extends Tagged>(sentences: Sentences<F>): ((fault: F) => string) =>
  (fault) =>
    sentenceOf(sentences, fault)

/**
 * What was thrown or given as a fault, in words. Never throws.
 *
 * @returns the message of an Error; the tag and the plain fields of an object; else the value as a string
 */
export const reasonOf = (cause: unknown): string => {
  try {
    if (cause instanceof Error || typeof cause !== 'object' || cause === null) return textOf(cause)
    const tag = ownField(cause as Tagged, '_tag')
    const fields = Object.entries(cause)
      .filter(([name, value]) => plainTypes.has(typeof value) && !(name === '_tag' && typeof value === 'string'))
      .slice(0, 6)
      .map(([name, value]) => `${name} ${JSON.stringify(value).slice(0, 200)}`)
      .join(', ')
    if (typeof tag === 'string') return fields === '' ? tag : `${tag} (${fields})`
    return fields === '' ? textOf(cause) : fields
  } catch {
    return 'a value that has no text'
  }
}

const plainTypes: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
