/** What is folded and what is open: kept here, so that it stays when a message is scrolled away and back. */
import { signal } from '@preact/signals'

const toggled = signal<ReadonlySet<string>>(new Set())
/** Whether all is open that nobody has closed. */
const everything = signal(false)

/** Whether a piece is open. */
export const isOpen = (key: string): boolean => toggled.value.has(key) !== everything.value

export const toggle = (key: string): void => {
  const next = new Set(toggled.value)
  if (!next.delete(key)) next.add(key)
  toggled.value = next
}

export const openAll = (): void => {
  everything.value = !everything.value
  toggled.value = new Set()
}

export const allOpen = (): boolean => everything.value
