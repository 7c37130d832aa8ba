/** Adds private fields to objects of another class: a subclass of `ReturnsArgument` adds its fields to its argument. */

/** Returns its argument instead of a new object. The argument must not be frozen yet. */
export class ReturnsArgument {
  constructor(target: object) {
    return target
  }
}
