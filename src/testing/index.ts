export type { ContractCase } from './check.ts'
export type { Elsewhere, StorePlace, Wreck } from './place.ts'
export { storeContract } from './store-contract.ts'
