/** What is folded and what is open: kept here, so that it stays when a message is scrolled away and back. */
import { signal } from '@preact/signals'

const toggledIds = signal<ReadonlySet<string>>(new Set())
/** Whether all is open that nobody has closed. */
const isAllOpen = signal(false)

/** On paper all is open: nothing can be unfolded there. */
const isPrinting = signal(false)
addEventListener('beforeprint', () => (isPrinting.value = true))
addEventListener('afterprint', () => (isPrinting.value = false))

/** Whether a piece is open. */
export const isOpen = (key: string): boolean => isPrinting.value || toggledIds.value.has(key) !== isAllOpen.value

export const toggle = (key: string): void => {
  const next = new Set(toggledIds.value)
  if (!next.delete(key)) next.add(key)
  toggledIds.value = next
}

export const openAll = (): void => {
  isAllOpen.value = !isAllOpen.value
  toggledIds.value = new Set()
}

export const allOpen = (): boolean => isAllOpen.value
