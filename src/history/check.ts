/** Checks messages with the schema of their history. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isObject, NotJson, type Path } from '../json/index.ts'

/**
 * A function that throws for a value that a schema refuses. It only checks: what the schema makes of the value is not
 * recorded.
 *
 * @throws TypeError if `schema` is no Standard Schema
 */
export const checkOf = (call: string, schema: StandardSchemaV1): ((message: unknown) => void) => {
  const standard = (Object(schema) as Partial<StandardSchemaV1>)['~standard']
  if (typeof standard?.validate !== 'function')
    throw new TypeError(
      `${call}: \`check\` is not a schema; pass a Standard Schema, for example from zod, valibot or arktype`,
    )
  return (message) => {
    const result = standard.validate(message)
    if (isPromise(result)) {
      Promise.resolve(result).catch(() => undefined) // a rejection is of no interest, and must not end the process
      throw new TypeError('`check` of the history is asynchronous; an append needs the result at once')
    }
    const { issues } = isObject(result) || Array.isArray(result) ? (result as typeof result) : { issues: null }
    if (issues === undefined) return
    if (!Array.isArray(issues))
      throw new TypeError('`check` of the history did not return the result of a Standard Schema: a value or issues')
    const [issue] = issues as readonly StandardSchemaV1.Issue[]
    throw issue === undefined
      ? new NotJson([], 'is refused', rule)
      : new NotJson(pathOf(issue), `is refused: ${issue.message}`, rule)
  }
}

const rule = 'see `check` of the history'

/** Whether a value is a promise, of any library. What was added to `Object.prototype` makes none of a result. */
const isPromise = (value: unknown): value is PromiseLike<unknown> => {
  const { then } = Object(value) as { readonly then?: unknown }
  return typeof then === 'function' && then !== Object(Object.prototype).then
}

const pathOf = ({ path = [] }: StandardSchemaV1.Issue): Path =>
  path.map((segment) => {
    const key = typeof segment === 'object' ? segment.key : segment
    return typeof key === 'symbol' ? String(key) : key
  })
