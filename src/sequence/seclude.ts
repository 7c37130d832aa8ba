/**
 * Make the instances of a class a dead end for whoever holds one: their prototype keeps its methods, frozen, and loses
 * `constructor` and everything that objects inherit. `valueOf` and `toString` stay those of every object, because
 * libraries that compare objects call them, or compare them.
 *
 * @param prototype the prototype of the class
 * @param parent the secluded prototype of the class that it extends. Default: none
 */
export const seclude = (prototype: object, parent: object | null = null): void => {
  deleteProperty(prototype, 'constructor')
  setPrototypeOf(prototype, parent)
  if (parent === null) {
    defineProperty(prototype, 'valueOf', { value: valueOf })
    defineProperty(prototype, 'toString', { value: toString })
  }
  freeze(prototype)
}

/**
 * Take a getter off a prototype, to define it on each instance as a property of its own: only those are seen by what
 * compares, clones or spreads objects. All instances share the one function.
 */
export const getterFrom = (prototype: object, key: string): (() => unknown) => {
  const getter = getOwnPropertyDescriptor(prototype, key)?.get as () => unknown
  deleteProperty(prototype, key)
  return getter
}

/** Define a getter as an enumerable property. `Object.defineProperty` would ask prototypes, and takes twice the time. */
export const defineGetter: (target: object, key: string, getter: () => unknown) => void = Function.prototype.call.bind(
  (Object.prototype as unknown as { readonly __defineGetter__: never }).__defineGetter__,
)

const { defineProperty, freeze, getOwnPropertyDescriptor, setPrototypeOf } = Object
const { deleteProperty } = Reflect
const { toString, valueOf } = Object.prototype
