export { aiSdkModel } from './model.ts'
