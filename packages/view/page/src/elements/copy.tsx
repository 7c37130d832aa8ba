/** A button that copies a text. */
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'

/** Nothing where the browser has no clipboard for this page. */
export const Copy = ({ text, what }: { readonly text: () => string; readonly what: string }): VNode | null => {
  const state = useSignal<'Copy' | 'Copied' | 'Not copied'>('Copy')
  if (!('clipboard' in navigator)) return null
  const copy = async (): Promise<void> => {
    state.value = await navigator.clipboard.writeText(text()).then(
      () => 'Copied' as const,
      () => 'Not copied' as const,
    )
  }
  return (
    <button
      type="button"
      class="copy"
      aria-label={`${state.value}: ${what}`}
      onClick={() => void copy()}
      onBlur={() => (state.value = 'Copy')}
    >
      {state.value}
    </button>
  )
}
