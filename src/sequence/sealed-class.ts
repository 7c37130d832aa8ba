/** Classes whose instances nobody else can make or change. */

/** Freeze the methods of a class, and remove its constructor from them: `new view.constructor()` would forge a view. */
export const sealClass = ({ prototype }: { readonly prototype: object }): void => {
  Reflect.deleteProperty(prototype, 'constructor')
  Object.freeze(prototype)
}

/**
 * Take a getter from a class, to define it as an own property of each instance: code that compares, clones or
 * spreads objects sees only own properties. All instances share the function.
 */
export const getterFrom = ({ prototype }: { readonly prototype: object }, key: string): (() => unknown) => {
  const getter = Object.getOwnPropertyDescriptor(prototype, key)?.get as () => unknown
  Reflect.deleteProperty(prototype, key)
  return getter
}

/** Define a getter as an enumerable property. `Object.defineProperty` would read prototypes and take twice the time. */
export const defineGetter: (target: object, key: string, getter: () => unknown) => void = Function.prototype.call.bind(
  (Object.prototype as unknown as { readonly __defineGetter__: never }).__defineGetter__,
)
