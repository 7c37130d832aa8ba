export { modelPrices, pricesOf, type ModelPrices, type Prices } from './model-prices.ts'
