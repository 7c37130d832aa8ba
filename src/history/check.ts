/** Checks messages with the schema of their history. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { NotJson, type Path } from '../json/index.ts'

/**
 * A function that throws for a value that a schema refuses. It only checks: what the schema makes of the value is not
 * recorded.
 *
 * @throws TypeError if `schema` is no Standard Schema
 */
export const checkOf = (schema: StandardSchemaV1): ((message: unknown) => void) => {
  const standard = (Object(schema) as Partial<StandardSchemaV1>)['~standard']
  if (typeof standard?.validate !== 'function')
    throw new TypeError(
      'createHistory: `check` is no schema; expected a Standard Schema, as of zod, valibot or arktype',
    )
  return (message) => {
    const result = standard.validate(message)
    if (result instanceof Promise)
      throw new TypeError('createHistory: `check` is asynchronous; an append needs the answer at once')
    const [issue] = result.issues ?? []
    if (issue !== undefined)
      throw new NotJson(pathOf(issue), `is refused: ${issue.message}`, 'see `check` of the history')
  }
}

const pathOf = ({ path = [] }: StandardSchemaV1.Issue): Path =>
  path.map((segment) => {
    const key = typeof segment === 'object' ? segment.key : segment
    return typeof key === 'symbol' ? String(key) : key
  })
