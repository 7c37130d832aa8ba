export { nativePrograms, writeNative, type Native, type NativeProgram } from './native.ts'
