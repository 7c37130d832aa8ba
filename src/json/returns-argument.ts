/** Private fields on an object that another class made: a subclass of `ReturnsArgument` adds its fields to its argument. */

/** Returns its argument in place of a new object. The argument must not be frozen yet. */
export class ReturnsArgument {
  constructor(target: object) {
    return target
  }
}
