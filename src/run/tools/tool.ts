/** Tools that a model may call, with checked arguments. */
import { present, type JsonObject, describe, optionsOf, type OptionNames } from '../../json/index.ts'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { Meta, ResultPart, ToolCallPart } from '../../message/index.ts'
import { amount } from '../../task/index.ts'
import type { ToolDefinition } from '../model/model.ts'

/** A runnable tool, made by `tool`. */
export interface Tool extends ToolDefinition {
  /** Checks the arguments, if set. */
  readonly schema: StandardSchemaV1 | undefined
  /** Milliseconds after which the call fails. Default: only the run's limits apply. */
  readonly timeout: number | undefined
  /** Whether it must not run concurrently with other tools of the same step. */
  readonly alone: boolean
  /** Whether its calls wait for approval: all, or depending on the input. Default: none do. */
  readonly needsApproval?: boolean | ((input: unknown) => boolean | Promise<boolean>)
  /** Whether a call may run again if a run died without recording its result. Default: false. */
  readonly idempotent?: boolean
  /**
   * Runs the tool. The return value becomes the result; an exception becomes an error result.
   *
   * @param context the call, and a signal that aborts it
   * @returns the result, or a promise of it
   */
  readonly run?: (input: never, context: ToolContext) => unknown
}

/** The second argument of a tool. */
export interface ToolContext {
  /** The call, as the model made it. */
  readonly call: ToolCallPart
  /** Aborted by an interrupt, a timeout, or the end of the run. */
  readonly signal: AbortSignal
}

/**
 * The parts of a tool.
 *
 * @typeParam Schema a Standard Schema (zod, valibot, arktype …), or undefined if the tool checks
 * its arguments itself
 */
export type ToolOptions<Schema extends StandardSchemaV1 | undefined> = {
  /** The name by which the model calls it. */
  readonly name: string
  /** The text from which the model decides when to call it. */
  readonly description?: string
  /** Milliseconds after which the call fails. Default: only the run's limits apply. */
  readonly timeout?: number
  /** Whether it must not run concurrently with other tools of the step. Default: `false`. */
  readonly alone?: boolean
  /**
   * Whether its calls wait for approval: all of them, or those for which a function returns true.
   * The run then ends with `approval`, and `resume` continues it. If the function throws, the call
   * waits. The run's signal and limits apply to it. Default: `false`.
   */
  readonly needsApproval?:
    | boolean
    | ((
        input: Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : unknown,
      ) => boolean | Promise<boolean>)
  /**
   * Whether calling it twice has the same effect as once, so that `resume` with `retry` may run it
   * again. Default: `false`.
   */
  readonly idempotent?: boolean
  /**
   * Runs the tool. The return value becomes the result; an exception becomes an error result. Default: others run it (the
   * browser, a person, another service). Its calls then wait, as for an approval, and `results` of `resume` or `run` has
   * what they gave.
   *
   * @param context the call, and a signal that aborts it
   * @returns the result, or a promise of it
   */
  readonly run?: (
    input: Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : unknown,
    context: ToolContext,
  ) => unknown
} & (Schema extends StandardSchemaV1
  ? {
      /** Checks the arguments; `run` gets its output. */
      readonly schema: Schema
      /** JSON Schema of the arguments. Default: from the schema, if it supports Standard JSON Schema. */
      readonly parameters?: JsonObject
    }
  : { readonly schema?: undefined; readonly parameters: JsonObject })

/**
 * Makes a tool. The model reads the return value of `run`: a string as is, parts (such as an image)
 * through `toolOutput`, bytes as a file, a result in MCP's shape as its parts, anything else as JSON, `undefined` as an
 * empty text. An error that `run` throws or returns
 * becomes an error result. So does a value that JSON can't hold, such as a Map.
 *
 * @param options name, parameters and function
 * @throws TypeError if `parameters` is missing and the schema can't provide it, or the timeout is invalid
 * @example
 * tool({ name: 'read', parameters: { type: 'object', properties: { path: { type: 'string' } } }, run: (input) => … })
 */
export const tool = <Schema extends StandardSchemaV1 | undefined = undefined>(options: ToolOptions<Schema>): Tool => {
  const {
    name,
    description,
    schema,
    timeout,
    alone = false,
    idempotent,
  } = optionsOf('tool', options, toolOptionNames as OptionNames<typeof options>)
  if (typeof name !== 'string' || name === '')
    throw new TypeError(`tool: \`name\` is ${describe(name)}; expected the name that the model calls`)
  if (options.run !== undefined && typeof options.run !== 'function')
    throw new TypeError(`tool ${JSON.stringify(name)}: \`run\` is ${describe(options.run)}; expected a function`)
  checkTimeout(name, timeout)
  const parameters = options.parameters ?? schemaParameters(name, schema)
  // The casts erase the input type; `invoke` passes only input that the schema accepted.
  const run = options.run as Tool['run']
  const needsApproval = options.needsApproval as Tool['needsApproval']
  return Object.freeze({
    name,
    ...present({ description }),
    parameters,
    schema,
    timeout,
    alone,
    ...present({ needsApproval, idempotent, run }),
  })
}

const toolOptionNames: OptionNames<ToolOptions<StandardSchemaV1>> = {
  name: true,
  description: true,
  schema: true,
  parameters: true,
  timeout: true,
  alone: true,
  needsApproval: true,
  idempotent: true,
  run: true,
}

/** Throws a TypeError if a timeout is not a number of milliseconds. */
export const checkTimeout = (name: string, timeout: number | undefined): void => {
  if (timeout !== undefined) amount(`tool ${JSON.stringify(name)}: timeout`, timeout, { unit: 'milliseconds' })
}

const schemaParameters = (name: string, schema: StandardSchemaV1 | undefined): JsonObject => {
  const standard = schema?.['~standard'] as Partial<StandardJSONSchemaV1.Props> | undefined
  if (standard?.jsonSchema === undefined)
    throw new TypeError(
      `tool "${name}": pass \`parameters\` as JSON Schema; ${schema === undefined ? 'the tool has no schema' : 'its schema does not provide one'}`,
    )
  return standard.jsonSchema.input({ target: 'draft-2020-12' }) as JsonObject
}

/** A tool result other than a string or JSON. */
export class ToolOutput {
  /** The parts that the model reads. */
  readonly content: readonly ResultPart[]
  /** Whether the tool failed. Default: `false`. */
  readonly isError: boolean
  /** Data that is recorded with the result, and that no model reads. Default: none. */
  readonly meta?: Meta

  constructor(content: readonly ResultPart[], isError: boolean, meta?: Meta) {
    this.content = content
    this.isError = isError
    if (meta !== undefined) this.meta = meta
  }
}

/**
 * A tool result made of parts (such as an image), or an error result that is not thrown.
 *
 * @param content the result; a string becomes a text part
 * @param options whether the call failed (default: it succeeded), and data to record with the result as its `meta`
 * @returns the output, to return from a tool
 * @example
 * tool({ name: 'photo', parameters: {}, run: () => toolOutput([image({ type: 'url', url: 'https://…' })]) })
 */
export const toolOutput = (
  content: string | readonly ResultPart[],
  options: { readonly isError?: boolean; readonly meta?: Meta } = {},
): ToolOutput => {
  const { isError = false, meta } = optionsOf('toolOutput', options, { isError: true, meta: true })
  return new ToolOutput(typeof content === 'string' ? [{ type: 'text', text: content }] : content, isError, meta)
}
