/** Cases of the suite of stores. */
import type { Store } from 'indelible/store'
import type { StorePlace } from './place.ts'

/** A case as it is written: it gets a store on an empty place, and the place. */
export type StoreCase = (store: Store, place: StorePlace) => Promise<void>

export type StoreCases = Readonly<Record<string, StoreCase>>
