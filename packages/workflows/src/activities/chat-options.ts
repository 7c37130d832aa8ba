/** Translates the options of Sidekick's older stream function (`ChatStreamOptions`) to the input of a step. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  anObject,
  isLeft,
  isObject,
  left,
  present,
  readEach,
  readIn,
  right,
  snapshot,
  Unexpected,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import type { Loss } from 'indelible/codecs'
import type { ToolDefinition } from 'indelible/run'
import { parseHistoryJson, type ParsedHistory, type ParseFault } from '../refs/index.ts'
import type { StreamInput } from './input.ts'

/** The translated options. */
export interface TranslatedChatOptions {
  /** The options of `chatStep`, and with a history the input of `stream`. */
  readonly options: Omit<StreamInput, 'history'>
  /** The messages, as `parseHistoryJson` reads them. */
  readonly history: ParsedHistory
  /** The workflow, for the refs of new messages. Absent if the options name none. */
  readonly flowId?: string
  /** The values that have no place in the new input. `secrets` are always among them: the host has the keys. */
  readonly losses: readonly Loss[]
}

/**
 * Translate the options of the older stream function: `{ params: { messages, tools, toolChoice, parallelToolCalls,
 * temperature, provider, model }, secrets, workspaceId, flowId, flowActionId }`, in Go's or in camel case.
 *
 * The action is `flowActionId`. Temperature, tool choice and parallel calls become `parameters` in the provider's own
 * words (OpenAI's in those of Chat Completions). Nothing is dropped silently: `losses` lists it.
 *
 * @param saved the options as JSON data
 * @param scope the scope of the history. Default: `default`
 * @returns the options and the history; or `UnreadableHistory` with the path
 * @example
 * const { options, history } = orThrow(translateChatOptions(saved))
 * if (history.kind === 'refs') await chatStep(activities, history.history, options)
 */
export const translateChatOptions = (saved: unknown, scope?: string): Either<ParseFault, TranslatedChatOptions> => {
  try {
    const fields = anObject(snapshot(saved as Json))
    const rest = new Map(Object.entries(fields))
    const params = new Map(
      Object.entries(readIn(fields, Object.hasOwn(fields, 'Params') ? 'Params' : 'params', anObject)),
    )
    rest.delete('Params')
    rest.delete('params')
    const take = (from: Map<string, Json>, name: string): Json | undefined => {
      const pascal = `${name.charAt(0).toUpperCase()}${name.slice(1)}`
      const key = from.has(name) ? name : pascal
      const value = from.get(key)
      from.delete(key)
      return value ?? undefined
    }
    const losses: Loss[] = []
    const lose = (path: readonly string[], reason: string): void =>
      void losses.push(Object.freeze({ position: 0, path, reason }))
    if (take(rest, 'secrets') !== undefined) lose(['secrets'], 'secrets are not carried: the host has the keys')
    const action = readText(take(rest, 'flowActionId'), ['flowActionId'])
    if (action === undefined) throw new Unexpected(['flowActionId'], 'the id of the action', undefined)
    const flowId = readText(take(rest, 'flowId'), ['flowId'])
    const name = readText(take(params, 'model'), ['params', 'model'])
    const provider = readText(take(params, 'provider'), ['params', 'provider'])
    const tools = take(params, 'tools')
    const history = parseHistoryJson(take(params, 'messages') ?? [], present({ scope }))
    if (isLeft(history))
      return left(
        history.left._tag === 'UnreadableHistory'
          ? { ...history.left, path: ['params', 'messages', ...history.left.path] }
          : history.left,
      )
    const parameters = parametersOf(providerOf(provider, name), {
      temperature: take(params, 'temperature'),
      toolChoice: take(params, 'toolChoice'),
      parallelToolCalls: take(params, 'parallelToolCalls'),
      reasoningEffort: take(params, 'reasoningEffort'),
      lose: (field, reason) => lose(['params', field], reason),
    })
    for (const field of params.keys()) lose(['params', field], 'has no place in the new input')
    for (const field of rest.keys()) lose([field], 'has no place in the new input')
    return right(
      Object.freeze({
        options: Object.freeze({
          action,
          model: Object.freeze(
            present({ name, type: provider === undefined ? undefined : (types.get(provider) ?? provider) }),
          ),
          ...(tools !== undefined && { tools: readTools(tools) }),
          ...(Object.keys(parameters).length > 0 && { parameters }),
        }),
        history: history.right,
        ...present({ flowId }),
        losses: Object.freeze([...losses, ...history.right.losses]),
      }),
    )
  } catch (error) {
    if (error instanceof Unexpected)
      return left({ _tag: 'UnreadableHistory', path: error.path, expected: error.expected, found: error.found })
    if (error instanceof TypeError)
      return left({ _tag: 'UnreadableHistory', path: [], expected: 'plain JSON data', found: error.message })
    throw error
  }
}

/** Sidekick's names of providers that are called otherwise here. */
const types: ReadonlyMap<string, string> = new Map([['gemini', 'google']])

type Provider = 'openai' | 'anthropic' | 'google' | 'other'

const providerOf = (provider: string | undefined, name = ''): Provider => {
  const type = provider === undefined ? undefined : (types.get(provider) ?? provider)
  if (type === 'openai' || type === 'anthropic' || type === 'google') return type
  if (type !== undefined) return 'other'
  if (name.startsWith('claude-')) return 'anthropic'
  return /^(?:models\/)?gemini-/.test(name) ? 'google' : 'openai'
}

interface OldParameters {
  readonly temperature: Json | undefined
  readonly toolChoice: Json | undefined
  readonly parallelToolCalls: Json | undefined
  readonly reasoningEffort: Json | undefined
  readonly lose: (field: string, reason: string) => void
}

/** The parameters in the provider's words. */
const parametersOf = (
  provider: Provider,
  { temperature, toolChoice, parallelToolCalls, reasoningEffort, lose }: OldParameters,
): JsonObject => {
  const choice = readChoice(toolChoice)
  const effort = typeof reasoningEffort === 'string' && reasoningEffort !== '' ? reasoningEffort : undefined
  const found = typeof temperature === 'number' ? { temperature } : {}
  if (temperature !== undefined && typeof temperature !== 'number') lose('temperature', 'is not a number')
  if (provider === 'anthropic') {
    const type = choice && { auto: 'auto', required: 'any', none: 'none', tool: 'tool' }[choice.type]
    const once = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
    if (effort !== undefined) lose('reasoningEffort', 'Anthropic has a budget of tokens for it: set `thinking`')
    if (type === undefined && parallelToolCalls !== false) return found
    return { ...found, tool_choice: { type: type ?? 'auto', ...present({ name: choice?.name }), ...once } }
  }
  if (provider === 'google') {
    if (parallelToolCalls !== undefined) lose('parallelToolCalls', 'Gemini has no such parameter')
    if (effort !== undefined) lose('reasoningEffort', 'Gemini has a budget of tokens for it: set `thinkingConfig`')
    const mode = choice && { auto: 'AUTO', required: 'ANY', none: 'NONE', tool: 'ANY' }[choice.type]
    if (mode === undefined) return found
    const names = choice?.name === undefined ? {} : { allowedFunctionNames: [choice.name] }
    return { ...found, toolConfig: { functionCallingConfig: { mode, ...names } } }
  }
  return {
    ...found,
    ...(choice !== undefined && {
      tool_choice: choice.type === 'tool' ? { type: 'function', function: { name: choice.name ?? '' } } : choice.type,
    }),
    ...(typeof parallelToolCalls === 'boolean' && { parallel_tool_calls: parallelToolCalls }),
    ...(effort !== undefined && { reasoning_effort: effort }),
  }
}

interface OldChoice {
  readonly type: 'auto' | 'required' | 'none' | 'tool'
  readonly name?: string
}

/** Go writes an unset choice as one with an empty type. */
const readChoice = (value: Json | undefined): OldChoice | undefined => {
  if (value === undefined) return undefined
  const path = ['params', 'toolChoice']
  if (!isObject(value)) throw new Unexpected(path, 'an object with a type', value)
  const type = value['type'] ?? value['Type'] ?? 'unspecified'
  const name = readText(value['name'] ?? value['Name'], [...path, 'name'])
  if (type === '' || type === 'unspecified') return undefined
  if (type !== 'auto' && type !== 'required' && type !== 'none' && type !== 'tool')
    throw new Unexpected([...path, 'type'], 'auto, required, none, tool or unspecified', type)
  if (type === 'tool' && name === undefined) throw new Unexpected([...path, 'name'], 'the name of a tool', undefined)
  return { type, ...present({ name }) }
}

const readTools = (value: Json): readonly ToolDefinition[] => {
  const path = ['params', 'tools']
  if (!Array.isArray(value)) throw new Unexpected(path, 'an array of tools', value)
  try {
    return Object.freeze(readEach(value as readonly Json[], readTool))
  } catch (error) {
    throw error instanceof Unexpected ? error.within(...path) : error
  }
}

const readTool = (value: Json): ToolDefinition => {
  const tool = anObject(value)
  const name = readText(tool['name'] ?? tool['Name'], ['name'])
  if (name === undefined) throw new Unexpected(['name'], 'the name of a tool', tool['name'])
  const description = readText(tool['description'] ?? tool['Description'], ['description'])
  const parameters = tool['parameters'] ?? tool['Parameters'] ?? {}
  if (!isObject(parameters)) throw new Unexpected(['parameters'], 'a JSON Schema', parameters)
  return Object.freeze({ name, ...present({ description }), parameters })
}

/** A text; undefined for an empty one, as Go writes an unset field. */
const readText = (value: Json | undefined, path: readonly string[]): string | undefined => {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw new Unexpected(path, 'a string', value)
  return value
}
