/** Damage found inside a driver. */

/** Thrown within a driver if a position has no row, or an unreadable one. */
export class Damaged {
  readonly position: number
  readonly reason: string

  constructor(position: number, reason: string) {
    this.position = position
    this.reason = reason
  }
}
