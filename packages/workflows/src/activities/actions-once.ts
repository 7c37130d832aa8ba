/**
 * Actions in a store whose values are write-once. The state of an action is a series of values,
 * `actions/NAME/0`, `/1`, `/2` and so on: each holds the whole state, and the last one counts.
 * Whichever process writes the next value first wins; the others read it and try again.
 */
import { isLeft, isObject, jsonIn, left, right, textOfUtf8, utf8Of } from 'indelible/internal/json'
import { digestOfName } from 'indelible/internal/proof'
import { actionsIn, readKnownAction, type Actions, type KnownAction } from './actions.ts'
import type { OnceStore } from 'indelible/internal/store'

export const actionsOnce = (once: OnceStore, now: () => number): Actions =>
  actionsIn<number>({
    read: async (action) => {
      let known: KnownAction | undefined
      for (let next = 0, size = 8; ; size *= 2) {
        const names = Array.from({ length: size }, (_, index) => keyOf(digestOfName(action), next + index))
        const found = await once.get(names)()
        if (isLeft(found)) return found
        for (const bytes of found.right) {
          if (bytes === undefined) return right({ known, place: next })
          known = decodeAction(bytes)?.known
          if (known === undefined)
            return left({
              _tag: 'Io',
              operation: 'read an action',
              cause: new Error('the stored value is not an action'),
            })
          next += 1
        }
      }
    },
    write: async (action, known, next) =>
      once.put(keyOf(digestOfName(action), next), utf8Of(JSON.stringify({ at: now(), action, ...known })))(),
    forget: async (before) => {
      const { list, remove } = once
      if (list === undefined || remove === undefined)
        return left({
          _tag: 'InvalidInput',
          reason:
            "this key-value store has no `keys` or no `deletePrefix`, so its actions can't be found by age; add both, or let the store expire keys under `once/actions/`",
        })
      const names = await list('actions/')()
      if (isLeft(names)) return names
      const all = [...new Set(names.right.map((name) => name.split('/')[1] ?? ''))]
      let forgotten = 0
      for (let from = 0; from < all.length; from += 500) {
        const chunk = all.slice(from, from + 500)
        const firsts = await once.get(chunk.map((name) => keyOf(name, 0)))()
        if (isLeft(firsts)) return firsts
        for (const [index, name] of chunk.entries()) {
          const bytes = firsts.right[index]
          const at = bytes && decodeAction(bytes)?.at
          if (at !== undefined && at >= before) continue
          const removed = await remove(`actions/${name}/`)()
          if (isLeft(removed)) return removed
          forgotten += 1
        }
      }
      return right(forgotten)
    },
  })

const keyOf = (name: string, place: number): string => `actions/${name}/${place}`

const decodeAction = (bytes: Uint8Array): { readonly at: number; readonly known: KnownAction } | undefined => {
  let json
  try {
    json = jsonIn(textOfUtf8(bytes))
  } catch {
    return undefined // not text
  }
  if (!isObject(json)) return undefined
  const { at, ...noted } = json as { readonly [field: string]: unknown }
  const known = readKnownAction(noted)
  return known === undefined || typeof at !== 'number' ? undefined : { at, known }
}
