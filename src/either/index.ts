export { isLeft, isRight, left, right } from './either.ts'
