/** Where a suite runs: how it opens the store that is tested, again and again. */
import type { Store } from '../store/index.ts'
import type { Faults } from './faults.ts'

/** A place for a store, empty at first. */
export interface StorePlace {
  /** A handle on it. Called again for another scope, and after the last one was closed. */
  readonly open: (scope?: string) => Promise<Store>
  /** Whether what was stored is there when it is opened again after all handles were closed. */
  readonly lasting: boolean
  /** How other processes open it; without, the cases with several processes are left out. */
  readonly elsewhere?: Elsewhere
  /** What crashes may leave in an empty place, half-finished migrations for one. Each must then open as if nothing were. */
  readonly wrecks?: readonly Wreck[]
  /**
   * A handle on it whose medium does its steps through `faults`, so that they can be struck. Without, the cases with
   * faults are left out.
   */
  readonly openFaulty?: (faults: Faults) => Promise<Store>
  /** Clean up. Every handle is closed. */
  readonly leave?: () => Promise<void>
}

/** A module for Node that exports `openStore(argument: string): Promise<Store>`. */
export interface Elsewhere {
  /** Its `file:` URL. */
  readonly module: string
  /** What `openStore` is called with. */
  readonly argument: string
}

/** What a crash may leave behind, as a case of its own. */
export interface Wreck {
  /** What it is, in words. */
  readonly name: string
  /** Makes it, in an empty place. */
  readonly make: () => Promise<void>
}
