/** Redaction: secrets are replaced in texts by a mark that says which rule found them and how long they were. */
import { isArray, isObject, type Json } from '../json/index.ts'
import { keyBegin, secretRules, type RedactRule } from './rule.ts'

/** How texts are redacted. */
export interface RedactOptions {
  /** Rules of your own. They come first. Default: none. */
  readonly rules?: readonly RedactRule[]
  /** Whether the formats of `secretRules` are found, too. Default: true. */
  readonly secrets?: boolean
  /**
   * Told of each secret that was taken out, and not what it was. What it throws is ignored. Default: nobody.
   *
   * @param found the rule and the length
   */
  readonly onRedacted?: (found: Redacted) => void
}

/** A secret that was taken out. */
export interface Redacted {
  /** The name of the rule that found it. */
  readonly rule: string
  /** Its length in characters (UTF-16 code units). */
  readonly length: number
}

/** Takes secrets out of texts and JSON, and counts them. */
export interface TextRedactor {
  /**
   * A text without secrets. One that is JSON, an object or an array, stays JSON: its strings and keys are redacted.
   *
   * @param text the text
   * @returns the text with a mark in place of each secret; the same text if it has none
   */
  readonly text: (text: string) => string
  /**
   * JSON without secrets: each string and each key is redacted, at any depth.
   *
   * @param value the value
   * @returns a copy with marks; the value itself if it has no secret
   */
  readonly json: <T extends Json>(value: T) => T
  /**
   * How much of a text that still grows can be redacted now: no secret begins before and ends behind that place.
   *
   * @param text the text so far
   * @returns a number of characters
   */
  readonly ready: (text: string) => number
  /**
   * How many secrets were taken out so far, by rule.
   *
   * @returns the numbers, in the order in which rules found something first
   */
  readonly counts: () => ReadonlyMap<string, number>
}

/** The mark in place of a secret. It has no quotes and no backslash, so it may stand in a JSON string. */
export const markOf = ({ rule, length }: Redacted): string => `[redacted ${rule}, ${length} characters]`

/** What a redactor of texts does for others of this folder: it says what it found in one value. */
export interface Finder extends TextRedactor {
  /** Collects what the work finds. */
  readonly finding: <T>(work: () => T) => { readonly result: T; readonly found: readonly Redacted[] }
}

/**
 * Make a redactor of texts.
 *
 * @throws TypeError if a rule has no name of letters, digits and hyphens, or no pattern
 */
export const textRedactor = ({ rules = [], secrets = true, onRedacted }: RedactOptions): Finder => {
  const all = [...rules.map(checkedRule), ...(secrets ? secretRules : [])].map(({ name, words, pattern }) => ({
    name,
    words,
    pattern: pattern.global ? pattern : new RegExp(pattern.source, `${pattern.flags}g`),
  }))
  const holdsBack = rules.some(({ spaces = true }) => spaces)
  const counts = new Map<string, number>()
  let collected: Redacted[] | undefined
  const note = (found: Redacted): string => {
    counts.set(found.rule, (counts.get(found.rule) ?? 0) + 1)
    collected?.push(found)
    try {
      onRedacted?.(found)
    } catch {
      // What is told can't keep the text from being redacted.
    }
    return markOf(found)
  }
  const plain = (text: string, mark: (found: Redacted) => string = note): string => {
    let result = text
    for (const { name, pattern, words } of all) {
      if (words !== undefined && !words.some((word) => result.includes(word))) continue
      if (result.search(pattern) === -1) continue
      result = result.replace(pattern, (match: string, ...rest: readonly unknown[]) => {
        const groups = rest.at(-1)
        const secret = isObject(groups) ? groups['secret'] : undefined
        if (typeof secret !== 'string') return match === '' ? '' : mark({ rule: name, length: match.length })
        const at = match.lastIndexOf(secret)
        return `${match.slice(0, at)}${mark({ rule: name, length: secret.length })}${match.slice(at + secret.length)}`
      })
    }
    return result
  }
  const text = (given: string): string => {
    const value = structureOf(given)
    if (value === undefined) return plain(given)
    const clean = json(value)
    if (clean === value) return given
    const inPlace = plain(given, markOf) // keeps its white space, if that comes to the same
    return sameText(inPlace, clean) ? inPlace : JSON.stringify(clean)
  }
  const json = <T extends Json>(value: T): T => deep(value, text) as T
  const finding: Finder['finding'] = (work) => {
    const [before, found] = [collected, [] as Redacted[]]
    collected = found
    try {
      return { result: work(), found }
    } finally {
      collected = before
    }
  }
  return {
    text,
    json,
    ready: (given) => (holdsBack ? 0 : readyUpTo(given)),
    counts: () => new Map(counts),
    finding,
  }
}

const checkedRule = (rule: RedactRule): RedactRule => {
  if (!(typeof rule.name === 'string' && /^[\w-]{1,64}$/.test(rule.name)))
    throw new TypeError(
      `a redaction rule needs a name of letters, digits and hyphens, found ${JSON.stringify(rule.name)}`,
    )
  if (!(rule.pattern instanceof RegExp))
    throw new TypeError(`the redaction rule ${rule.name} needs a pattern: a RegExp`)
  return rule
}

/** The JSON object or array that a text is; undefined, if it is something else. */
const structureOf = (text: string): Json | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

const sameText = (text: string, value: Json): boolean => {
  const found = structureOf(text)
  return found !== undefined && JSON.stringify(found) === JSON.stringify(value)
}

/** A value with each string and key changed; the value itself, where nothing changes. */
export const deep = (value: Json, change: (text: string) => string): Json => {
  if (typeof value === 'string') return change(value)
  if (isArray(value)) {
    const items = (value as readonly Json[]).map((item) => deep(item, change))
    return items.some((item, index) => item !== (value as readonly Json[])[index]) ? items : value
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value as { readonly [key: string]: Json })
  const taken = new Set<string>()
  let changed = false
  const rest = entries.map(([key, item]): readonly [string, Json] => {
    const clean = change(key)
    let name = clean
    for (let number = 2; taken.has(name); number++) name = `${clean} ${number}`
    taken.add(name)
    const inside = deep(item, change)
    changed ||= name !== key || inside !== item
    return [name, inside]
  })
  return changed ? Object.fromEntries(rest) : value
}

/** No secret has white space but a private key: up to the last white space, and not beyond a key that has not ended. */
const readyUpTo = (text: string): number => {
  let end = text.length
  while (end > 0 && !/\s/.test(text[end - 1] as string)) end -= 1
  const begin = text.lastIndexOf(keyBegin, end)
  if (begin === -1 || /-----END [A-Z0-9 ]{0,40}-----/.test(text.slice(begin))) return end
  return Math.min(end, begin)
}
