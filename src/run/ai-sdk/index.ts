export { aiSdkModel } from './model.ts'
export { aiSdkProvider } from './provider.ts'
