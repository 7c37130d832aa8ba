/** The place of a store suite: opens the tested store any number of times. */
import type { Store } from 'indelible/store'
import type { Faults } from './faults.ts'

/** A place for a store, empty at first. */
export interface StorePlace {
  /**
   * Open a handle. Called again for another scope, and after the last handle was closed.
   *
   * @param scope the scope. Default: `default`
   */
  readonly open: (scope?: string) => Promise<Store>
  /** Whether the data survives closing all handles. */
  readonly lasting: boolean
  /** How other processes open the store. Without it, cases with several processes are skipped. */
  readonly elsewhere?: StoreModule
  /** What a crash may leave in an empty place, such as half a migration. The store must still open normally. */
  readonly wrecks?: readonly CrashLeftover[]
  /** Open a handle whose medium runs its steps through `faults`. Without it, cases with faults are skipped. */
  readonly openFaulty?: (faults: Faults) => Promise<Store>
  /** Strike only every n-th step, and try three seeds instead of ten; for slow media. Default: 1, every step. */
  readonly faultEvery?: number
  /** Clean up, after every handle was closed. */
  readonly leave?: () => Promise<void>
}

/** A Node module that exports `openStore(argument: string): Promise<Store>`. */
export interface StoreModule {
  /** Its `file:` URL. */
  readonly module: string
  /** The argument of `openStore`. */
  readonly argument: string
}

/** The remains of a crash, tested as a separate case. */
interface CrashLeftover {
  /** Its description. */
  readonly name: string
  /** Creates them in an empty place. */
  readonly make: () => Promise<void>
}
