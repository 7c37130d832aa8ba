export { nativePrograms, writeNative, type Native, type NativeOptions, type NativeProgram } from './native.ts'
