/** Where a suite runs: how it opens the store that is tested, again and again. */
import type { Store } from 'indelible/store'
import type { Faults } from './faults.ts'

/** A place for a store, empty at first. */
export interface StorePlace {
  /**
   * Open a handle. It is called again for another scope, and after the last handle was closed.
   *
   * @param scope the scope. Default: `default`
   */
  readonly open: (scope?: string) => Promise<Store>
  /** Whether the data is still there after all handles were closed. */
  readonly lasting: boolean
  /** How other processes open it. Without it, the cases with several processes are left out. */
  readonly elsewhere?: Elsewhere
  /** What a crash may leave in an empty place, such as a half-finished migration. The store must then open normally. */
  readonly wrecks?: readonly Wreck[]
  /** Open a handle whose medium runs its steps through `faults`. Without it, the cases with faults are left out. */
  readonly openFaulty?: (faults: Faults) => Promise<Store>
  /** Let only each n-th step fail, and try three seeds instead of ten, where a step takes long. Default: 1, each of them. */
  readonly faultEvery?: number
  /** Clean up. Every handle is closed. */
  readonly leave?: () => Promise<void>
}

/** A module for Node that exports `openStore(argument: string): Promise<Store>`. */
export interface Elsewhere {
  /** Its `file:` URL. */
  readonly module: string
  /** The argument of `openStore`. */
  readonly argument: string
}

/** The remains of a crash, as a case of its own. */
export interface Wreck {
  /** Its description. */
  readonly name: string
  /** Makes it, in an empty place. */
  readonly make: () => Promise<void>
}
