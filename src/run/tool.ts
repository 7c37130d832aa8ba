/** Tools: what a model may call, checked before it runs. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../json/index.ts'
import type { ResultPart, ToolCallPart } from '../message/index.ts'
import { amount } from '../task/index.ts'
import type { ToolDefinition } from './model.ts'

/** A tool that can be run. `tool` makes one. */
export interface Tool extends ToolDefinition {
  /** Checks the arguments, if there is one. */
  readonly schema: StandardSchemaV1 | undefined
  /** Milliseconds after which it is given up. Default: none but those of the run. */
  readonly timeout: number | undefined
  /** Whether it must not run beside others of the same step. */
  readonly alone: boolean
  /** Runs it. The returned value becomes the result; a thrown one becomes an error result. */
  readonly run: (input: never, context: ToolContext) => unknown
}

/** What a tool gets beside its arguments. */
export interface ToolContext {
  /** The call, as the model made it. */
  readonly call: ToolCallPart
  /** Aborted by an interrupt, a timeout, or the end of the run. */
  readonly signal: AbortSignal
}

/**
 * What a tool is made of.
 *
 * @typeParam Schema a Standard Schema (zod, valibot, arktype …), or undefined for a tool that checks its arguments itself
 */
export type ToolOptions<Schema extends StandardSchemaV1 | undefined> = {
  /** Its name, as the model calls it. */
  readonly name: string
  /** What the model reads to decide when to call it. */
  readonly description?: string
  /** Milliseconds after which the tool is given up. Default: only the limits of the run. */
  readonly timeout?: number
  /** Whether it must not run beside other tools of the step. Default: `false`. */
  readonly alone?: boolean
  /** Runs it. The returned value becomes the result; a thrown one becomes an error result. */
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
 * A tool. What `run` returns is what the model reads: a string as it is, anything else as JSON, parts (an image, say)
 * through `toolOutput`. What it throws is an error result.
 *
 * Throws  TypeError, if the schema can't describe itself to the model and `parameters` is not given, or the timeout is no
 *         number of milliseconds
 * @example
 * tool({ name: 'read', parameters: { type: 'object', properties: { path: { type: 'string' } } }, run: (input) => … })
 */
export const tool = <Schema extends StandardSchemaV1 | undefined = undefined>(options: ToolOptions<Schema>): Tool => {
  const { name, description, schema, timeout, alone = false } = options
  checkTimeout(name, timeout)
  const parameters = options.parameters ?? describe(name, schema)
  // The cast forgets the input's type; `invoke` gives `run` only what the schema has let through.
  const run = options.run as Tool['run']
  return Object.freeze({
    name,
    ...(description !== undefined && { description }),
    parameters,
    schema,
    timeout,
    alone,
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
    throw new TypeError(`tool "${name}": give its parameters as JSON Schema; its schema has no way to say them`)
  return standard.jsonSchema.input({ target: 'draft-2020-12' }) as JsonObject
}

/** What a tool answers, where that is not a string or JSON. */
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

/** An answer made of parts, or one that is an error without being thrown. */
export const toolOutput = (
  content: string | readonly ResultPart[],
  options: { readonly isError?: boolean } = {},
): ToolOutput =>
  new ToolOutput(typeof content === 'string' ? [{ type: 'text', text: content }] : content, options.isError ?? false)
