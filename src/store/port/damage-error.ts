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

/** What a function reads, or the damage that it found. */
export const orDamage = <T>(read: () => T): T | Damaged => {
  try {
    return read()
  } catch (error) {
    if (error instanceof Damaged) return error
    throw error
  }
}
