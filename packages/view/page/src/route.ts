/** Which view is open: the part of the address after `#`, so that a link leads to a message from disk as well. */
import { computed, signal, type ReadonlySignal } from '@preact/signals'

export type Route =
  | { readonly view: 'sessions' }
  | { readonly view: 'session'; readonly id: string; readonly at?: number | undefined }
  /** A call by its number, from 1, by the index of its receipt among the notes, or the one that a message led to. */
  | {
      readonly view: 'saw'
      readonly id: string
      readonly call?: number | undefined
      readonly note?: number | undefined
      readonly message?: number | undefined
    }
  | { readonly view: 'spend' }
  | { readonly view: 'trace'; readonly id: string }
  /** `b` is empty while it is not chosen. */
  | { readonly view: 'diff'; readonly a: string; readonly b: string }

const hash = signal(location.hash)
addEventListener('hashchange', () => (hash.value = location.hash))

export const route: ReadonlySignal<Route> = computed(() => parseRoute(hash.value))

/** The address of a view, for a link. */
export const hrefOf = (to: Route): string => {
  const text = encodeURIComponent
  switch (to.view) {
    case 'sessions':
      return '#/'
    case 'session':
      return `#/s/${text(to.id)}${to.at === undefined ? '' : `/${to.at}`}`
    case 'saw':
      return `#/saw/${text(to.id)}${to.call !== undefined ? `/${to.call}` : to.note !== undefined ? `/n${to.note}` : to.message !== undefined ? `/m${to.message}` : ''}`
    case 'spend':
      return '#/spend'
    case 'trace':
      return `#/trace/${text(to.id)}`
    case 'diff':
      return `#/diff/${text(to.a)}/${text(to.b)}`
  }
}

/** Change the address without a step in the browser's history. */
export const replaceRoute = (to: Route): void => {
  history.replaceState(null, '', hrefOf(to))
  hash.value = location.hash
}

const parseRoute = (hash: string): Route => {
  const [, view, first = '', second = ''] = hash.split('/')
  const id = decodeComponent(first)
  if (view === 's' && id !== '') return { view: 'session', id, ...(isPosition(second) && { at: Number(second) }) }
  if (view === 'saw' && id !== '') {
    const [, letter, number] = /^([mn]?)(\d{1,15})$/.exec(second) ?? []
    const name = letter === 'm' ? 'message' : letter === 'n' ? 'note' : 'call'
    return { view: 'saw', id, ...(number !== undefined && { [name]: Number(number) }) }
  }
  if (view === 'spend') return { view }
  if (view === 'trace' && id !== '') return { view, id }
  if (view === 'diff' && id !== '') return { view: 'diff', a: id, b: decodeComponent(second) }
  return { view: 'sessions' }
}

const isPosition = (text: string): boolean => /^\d{1,15}$/.test(text)

const decodeComponent = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
