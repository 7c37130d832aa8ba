/** Types of the store suite's cases. */
import type { Store } from 'indelible/store'
import type { StorePlace } from './place.ts'

/** A case: receives a store in an empty place, and the place. */
type StoreCase = (store: Store, place: StorePlace) => Promise<void>

export type StoreCases = Readonly<Record<string, StoreCase>>
