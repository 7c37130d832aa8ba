export type { ContractCase } from './check.ts'
export type { Elsewhere, StorePlace, Wreck } from './place.ts'
export { storeContract } from './store-contract.ts'
export { modelContract, type ModelPlace, type ModelScene } from './model-contract.ts'
