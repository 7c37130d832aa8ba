/** Keys of a view: each letter does one thing, unless somebody types. */
import { useEffect, useRef } from 'preact/hooks'

/** Calls the actions of the latest rendering. A key can be pressed again before what it did is shown: actions ask signals where they are. */
export const useKeyActions = (actions: { readonly [key: string]: () => void }): void => {
  const latest = useRef(actions)
  latest.current = actions
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const action = Object.hasOwn(latest.current, event.key) ? latest.current[event.key] : undefined
      if (action === undefined || document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || typing.has(target.tagName))

const typing: ReadonlySet<string> = new Set(['INPUT', 'SELECT', 'TEXTAREA'])
