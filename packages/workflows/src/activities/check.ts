/** Checks the inputs of activities. Reasons name the place, never the value found there. */
import { isObject } from 'indelible/internal/json'
import type { ContextLimit, StreamInput } from './input.ts'
import { ActivityFailed } from './activity-errors.ts'

/** Throws ActivityFailed with `InvalidInput`. */
export const checkAction = (action: unknown): void =>
  require(typeof action === 'string' && action !== '', 'the action should have an id')

/** Checks a stream's input except its history. Throws ActivityFailed with `InvalidInput`. */
export const checkStream = ({ model, tools = [], parameters = {}, limit }: StreamInput): void => {
  require(isObject(model), 'the model should be an object with a name')
  for (const name of ['name', 'type'])
    require(model[name] === undefined || typeof model[name] === 'string', `model.${name} should be a string`)
  require(Array.isArray(tools), 'tools should be a list')
  for (const [index, tool] of (tools as readonly unknown[]).entries()) {
    const { name, parameters: schema } = isObject(tool) ? (tool as Partial<Record<string, unknown>>) : {}
    require(typeof name === 'string' && name !== '', `tools[${index}] should have a name`)
    require(isObject(schema), `tools[${index}].parameters should be a JSON Schema`)
  }
  require(isObject(parameters), 'parameters should be an object')
  if (limit !== undefined) checkLimit(limit)
}

/** Throws ActivityFailed with `InvalidInput`. */
export const checkLimit = (limit: ContextLimit): void => {
  const names = isObject(limit)
    ? (['budget', 'maxTokens', 'maxChars'] as const).filter(
        (name) => (limit as Partial<Record<typeof name, unknown>>)[name] !== undefined,
      )
    : []
  const [name] = names
  require(name !== undefined && names.length === 1, 'the limit should be one of budget, maxTokens and maxChars')
  const value: unknown = (limit as Partial<Record<string, unknown>>)[name as string]
  if (name === 'budget' && isObject(value)) {
    const { window, completion } = value as { readonly window?: unknown; readonly completion?: unknown }
    require(isSize(window) &&
      isSize(completion), 'limit.budget should have a window and a completion: numbers of at least 0')
  } else require(isSize(value), `limit.${name} should be a number of at least 0`)
}

/** Throws ActivityFailed with `InvalidInput` unless the condition holds. */
export const require: (holds: boolean, reason: string) => asserts holds = (holds, reason) => {
  if (!holds) throw new ActivityFailed({ _tag: 'InvalidInput', reason })
}

const isSize = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0
