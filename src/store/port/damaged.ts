/** Damage on its way out of a driver. */

/** Thrown within a driver: a position that should have a row and has none, or none that can be read. */
export class Damaged {
  readonly position: number
  readonly reason: string

  constructor(position: number, reason: string) {
    this.position = position
    this.reason = reason
  }
}
