export { left, right } from '#fp-ts/Either'
export { isLeft, isRight } from './narrow.ts'
