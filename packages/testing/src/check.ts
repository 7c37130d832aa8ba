/** Assertions for the suites of this folder. They throw, so no test runner is needed. */
import { isLeft } from 'indelible/internal/json'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { storeFaultText } from 'indelible/internal/store'
import type { StoreFault } from 'indelible/store'

/** One case of a suite: `it(name, run)`, in any test runner. */
export interface ContractCase {
  /** The claim of the case. */
  readonly name: string
  /** Runs the case. Throws if the contract is broken. */
  readonly run: () => Promise<void>
}

/** The value of a task that must not fail. An object must be frozen. */
export const valueOrThrow = async <T>(task: TaskEither<StoreFault, T>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(`${answer.left._tag}: ${storeFaultText(answer.left)}`, { cause: answer.left })
  return mustBeFrozen(answer.right)
}

/** The fault of a task, which must have this tag. */
export const faultOf = async <Tag extends StoreFault['_tag']>(
  tag: Tag,
  task: TaskEither<StoreFault, unknown>,
): Promise<Extract<StoreFault, { _tag: Tag }>> => {
  const answer = await task()
  if (!isLeft(answer)) throw new Error(`expected ${tag}, but it succeeded: ${show(answer.right)}`)
  if (answer.left._tag !== tag)
    throw new Error(`expected ${tag}, found ${answer.left._tag}: ${storeFaultText(answer.left)}`, {
      cause: answer.left,
    })
  if (storeFaultText(answer.left).length < 20) throw new Error(`${tag} has no sentence for people`)
  return answer.left as Extract<StoreFault, { _tag: Tag }> // the tag was compared
}

/** The value, whose objects and lists must be frozen all the way down: otherwise one caller's change could affect another. */
export const mustBeFrozen = <T>(value: T, path = 'the answer'): T => {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value
  if (!Object.isFrozen(value)) throw new Error(`${path} is not frozen: ${show(value)}`)
  for (const key of Object.keys(value)) mustBeFrozen((value as Record<string, unknown>)[key], `${path}.${key}`)
  return value
}

/** Throws unless both are deeply equal. */
export const mustEqual = (actual: unknown, expected: unknown, what = 'the answer'): void => {
  if (!equal(actual, expected)) throw new Error(`${what} is ${show(actual)}, expected ${show(expected)}`)
}

export const mustHold = (condition: boolean, what: string): void => {
  if (!condition) throw new Error(`expected that ${what}`)
}

/** The milliseconds after which missing work counts as hung. Even slow machines need less. */
const patience = 300_000

/** The result of work that must finish, however slow the machine is. Throws if it hangs. */
export const mustCome = async <T>(work: Promise<T>, late = 'nothing came'): Promise<T> => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const hung = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${late} for ${patience / 60_000} minutes`)), patience)
  })
  try {
    return await Promise.race([work, hung])
  } finally {
    clearTimeout(timer)
  }
}

export const equal = (left: unknown, right: unknown): boolean => {
  if (Object.is(left, right)) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (left instanceof Uint8Array && right instanceof Uint8Array)
    return left.length === right.length && left.every((byte, index) => byte === right[index])
  if (left instanceof Uint8Array || right instanceof Uint8Array) return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  if (Array.isArray(left) && left.length !== (right as readonly unknown[]).length) return false
  // A field that is undefined is absent, as in JSON.
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].every((key) =>
    equal((left as Record<string, unknown>)[key], (right as Record<string, unknown>)[key]),
  )
}

const show = (value: unknown): string => {
  const text =
    JSON.stringify(value, (_key, inner: unknown) => (inner instanceof Uint8Array ? `${inner.length} bytes` : inner)) ??
    String(value)
  return text.length > 500 ? `${text.slice(0, 500)}…` : text
}

/** Change everything in an argument that can be changed, deeply: its arrays, objects and bytes. */
export const changeEverything = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return
  if (value instanceof Uint8Array) return void value.fill(255)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return
  const members = value as { [name: string]: unknown }
  for (const name of Object.keys(members)) {
    const member = members[name]
    changeEverything(member)
    if (typeof member === 'string') members[name] = 'wrecked'
    else if (typeof member === 'number') members[name] = member + 1
    else if (typeof member === 'boolean') members[name] = !member
    else if (typeof member === 'function') members[name] = () => 'wrecked'
  }
  if (Array.isArray(value)) value.push('wrecked')
  else members['wrecked'] = 'wrecked'
}
