/**
 * Make the instances of a class a dead end for whoever holds one: their prototype keeps its methods, frozen, and loses
 * `constructor` and everything that objects inherit.
 */
export const seclude = (prototype: object): void => {
  deleteProperty(prototype, 'constructor')
  setPrototypeOf(prototype, null)
  freeze(prototype)
}

const { freeze, setPrototypeOf } = Object
const { deleteProperty } = Reflect
