/** Tools: what a model may call, checked before it runs. */
import { present, type JsonObject } from '../json/index.ts'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { ResultPart, ToolCallPart } from '../message/index.ts'
import { amount } from '../task/index.ts'
import type { ToolDefinition } from './model.ts'

/** A runnable tool. `tool` makes one. */
export interface Tool extends ToolDefinition {
  /** Checks the arguments, if there is one. */
  readonly schema: StandardSchemaV1 | undefined
  /** Milliseconds after which the call fails. Default: only the limits of the run. */
  readonly timeout: number | undefined
  /** Whether it must not run beside other tools of the same step. */
  readonly alone: boolean
  /** Whether its calls wait for an approval, all or by their input. Default: none does. */
  readonly needsApproval?: boolean | ((input: unknown) => boolean | Promise<boolean>)
  /** Whether a call may be run again, where a run died and left no result of it. Default: false. */
  readonly idempotent?: boolean
  /**
   * Run the tool. The returned value becomes the result; a thrown one becomes an error result.
   *
   * @param context the call, and a signal that ends it
   * @returns the result, or a promise of it
   */
  readonly run: (input: never, context: ToolContext) => unknown
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
 * @typeParam Schema a Standard Schema (zod, valibot, arktype …), or undefined for a tool that checks its arguments
 * itself
 */
export type ToolOptions<Schema extends StandardSchemaV1 | undefined> = {
  /** The name by which the model calls it. */
  readonly name: string
  /** The text by which the model decides when to call it. */
  readonly description?: string
  /** Milliseconds after which the call fails. Default: only the limits of the run. */
  readonly timeout?: number
  /** Whether it must not run beside other tools of the step. Default: `false`. */
  readonly alone?: boolean
  /**
   * Whether its calls wait for an approval: all of them, or those that a function of the input says. The run then ends with
   * `approval`, and `resume` continues it. If the function throws, the call waits. It runs under the signal and the limits
   * of the run. Default: `false`.
   */
  readonly needsApproval?:
    | boolean
    | ((
        input: Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : unknown,
      ) => boolean | Promise<boolean>)
  /**
   * Whether calling it twice has the effect of calling it once. `resume` with `retry` runs such calls again. Default: `false`.
   */
  readonly idempotent?: boolean
  /**
   * Run the tool. The returned value becomes the result; a thrown one becomes an error result.
   *
   * @param context the call, and a signal that ends it
   * @returns the result, or a promise of it
   */
  readonly run: (
    input: Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : unknown,
    context: ToolContext,
  ) => unknown
} & (Schema extends StandardSchemaV1
  ? {
      /** Checks the arguments; `run` gets what it gives out. */
      readonly schema: Schema
      /** JSON Schema of the arguments. Default: what the schema says of itself, if it can (Standard JSON Schema). */
      readonly parameters?: JsonObject
    }
  : { readonly schema?: undefined; readonly parameters: JsonObject })

/**
 * Make a tool. The model reads the return value of `run`: a string as it is, anything else as JSON, parts (an image,
 * for example) through `toolOutput`. An error that `run` throws becomes an error result.
 *
 * @param options name, parameters and function
 * @throws TypeError if the schema can't give a JSON Schema and `parameters` is missing, or the timeout is not a number
 * of
 * milliseconds
 * @example
 * tool({ name: 'read', parameters: { type: 'object', properties: { path: { type: 'string' } } }, run: (input) => … })
 */
export const tool = <Schema extends StandardSchemaV1 | undefined = undefined>(options: ToolOptions<Schema>): Tool => {
  const { name, description, schema, timeout, alone = false, idempotent } = options
  checkTimeout(name, timeout)
  const parameters = options.parameters ?? describe(name, schema)
  // The casts forget the input's type; `invoke` gives both only what the schema has let through.
  const run = options.run as Tool['run']
  const needsApproval = options.needsApproval as Tool['needsApproval']
  return Object.freeze({
    name,
    ...present({ description }),
    parameters,
    schema,
    timeout,
    alone,
    ...present({ needsApproval, idempotent }),
    run,
  })
}

/** Throws TypeError, on a timeout that is no number of milliseconds. */
export const checkTimeout = (name: string, timeout: number | undefined): void => {
  if (timeout !== undefined) amount(`tool ${JSON.stringify(name)}: timeout`, timeout, { unit: 'milliseconds' })
}

const describe = (name: string, schema: StandardSchemaV1 | undefined): JsonObject => {
  const standard = schema?.['~standard'] as Partial<StandardJSONSchemaV1.Props> | undefined
  if (standard?.jsonSchema === undefined)
    throw new TypeError(
      `tool "${name}": give \`parameters\` as JSON Schema; ${schema === undefined ? 'the tool has no schema' : 'its schema does not describe itself'}`,
    )
  return standard.jsonSchema.input({ target: 'draft-2020-12' }) as JsonObject
}

/** A tool result that is not a string or JSON. */
export class ToolOutput {
  /** The parts that the model reads. */
  readonly content: readonly ResultPart[]
  /** Whether the tool failed. Default: `false`. */
  readonly isError: boolean

  constructor(content: readonly ResultPart[], isError: boolean) {
    this.content = content
    this.isError = isError
  }
}

/**
 * A tool result made of parts, or an error result that is not thrown.
 *
 * @param content the result; a string becomes a text part
 * @param options whether the call failed. Default: it succeeded
 * @returns the output, to return from a tool
 */
export const toolOutput = (
  content: string | readonly ResultPart[],
  options: { readonly isError?: boolean } = {},
): ToolOutput =>
  new ToolOutput(typeof content === 'string' ? [{ type: 'text', text: content }] : content, options.isError ?? false)
