/** Every function and accessor that the global object reaches, and ways to replace some of them while something runs. */

// Taken before anything is patched.
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf } = Object
const { deleteProperty, ownKeys } = Reflect

export interface Place {
  readonly target: object
  readonly key: PropertyKey
  readonly name: string
}

/** Every function and accessor of what the global object reaches. */
export const places: readonly Place[] = (() => {
  const found: Place[] = []
  const seen = new Set<unknown>()
  const visit = (value: unknown, name: string): void => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return
    seen.add(value)
    visit(getPrototypeOf(value), `${name}.[[Prototype]]`)
    for (const key of ownKeys(value)) {
      if (value === globalThis && (typeof key === 'symbol' || key.startsWith('__'))) continue // the test runner's own
      const descriptor = getOwnPropertyDescriptor(value, key)
      if (descriptor === undefined) continue
      const here = `${name}.${String(key)}`
      for (const held of [descriptor.value, descriptor.get, descriptor.set]) visit(held, here)
      if (!descriptor.configurable || (typeof descriptor.value !== 'function' && descriptor.get === undefined)) continue
      found.push({ target: value, key, name: here })
    }
  }
  visit(globalThis, 'globalThis')
  for (const [name, value] of [
    ['array iterator', [].values()],
    ['map iterator', new Map().entries()],
    ['set iterator', new Set().values()],
    ['string iterator', ''[Symbol.iterator]()],
    ['match iterator', 'a'.matchAll(/a/g)],
    ['generator', (function* () {})()],
    ['async generator', (async function* () {})()],
    ['async function', async () => {}],
  ] as const)
    visit(value, name)
  return found
})()

/** A descriptor that inherits nothing: `get` on Object.prototype is one of the patches. */
export const plain = (descriptor: PropertyDescriptor): PropertyDescriptor => setPrototypeOf({ ...descriptor }, null)

export interface Patch {
  readonly target: object
  readonly key: PropertyKey
  readonly after: PropertyDescriptor
  readonly before: PropertyDescriptor | undefined
}

export const withPatches = (patches: readonly Patch[], run: () => void): void => {
  const count = patches.length
  try {
    for (let at = 0; at < count; at++) {
      const { target, key, after } = patches[at] as Patch
      defineProperty(target, key, after)
    }
    run()
  } finally {
    for (let at = count - 1; at >= 0; at--) {
      const { target, key, before } = patches[at] as Patch
      if (before === undefined) deleteProperty(target, key)
      else defineProperty(target, key, before)
    }
  }
}

/** A sequence of numbers that looks random and is the same in every run. */
export const numbers = (seed: number) => (): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}
