/** The words that a session is searched for, and how often they stand in what is folded. */
import { signal, type Signal } from '@preact/signals'
import type { VNode } from 'preact'
import { groupedNumber } from '../format-text.ts'

export const searchWords: Signal<string> = signal('')

/** Nothing where nobody searches, or the text has none of it. */
export const Hits = ({ text }: { readonly text: () => string }): VNode | null => {
  const wanted = searchWords.value.trim().toLowerCase()
  if (wanted === '') return null
  const count = text().toLowerCase().split(wanted).length - 1
  return count === 0 ? null : <mark class="hits">{groupedNumber(count)} found</mark>
}
