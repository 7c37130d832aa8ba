/**
 * Keep holders of an instance from reaching other code: the class's prototype keeps its methods,
 * frozen, and loses `constructor` and everything inherited from Object. `valueOf` and `toString`
 * remain those of all objects, because libraries that compare objects call or compare them.
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
 * Remove a getter from a prototype, to define it as an own property of each instance: code that
 * compares, clones or spreads objects sees only own properties. All instances share the function.
 */
export const getterFrom = (prototype: object, key: string): (() => unknown) => {
  const getter = getOwnPropertyDescriptor(prototype, key)?.get as () => unknown
  deleteProperty(prototype, key)
  return getter
}

/** Define a getter as an enumerable property. `Object.defineProperty` would read prototypes and take twice the time. */
export const defineGetter: (target: object, key: string, getter: () => unknown) => void = Function.prototype.call.bind(
  (Object.prototype as unknown as { readonly __defineGetter__: never }).__defineGetter__,
)

const { defineProperty, freeze, getOwnPropertyDescriptor, setPrototypeOf } = Object
const { deleteProperty } = Reflect
const { toString, valueOf } = Object.prototype
