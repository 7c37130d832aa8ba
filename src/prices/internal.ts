/** For the other folders and the packages of this repository, which are released together. Not a public API. */
export {
  callDollars,
  defaultPrices,
  ratesAt,
  unitsOf,
  usageDollars,
  type ModelRates,
  type Rates,
} from './model-prices.ts'
