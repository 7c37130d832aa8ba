/** Runs tools: a return value, an error or an abort becomes the tool's result. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, parseJson, present, right } from '../../json/index.ts'
import { decodeMessage, text, type ToolCallPart, type ToolResultPart } from '../../message/index.ts'
import { notRunText, sideEffects, toolResultPart, toolTimedOut } from '../../message/internal.ts'
import { reasonOf, systemClock, type Clock } from '../../task/index.ts'
import type { FailureSummary } from '../../notes/internal.ts'
import { ToolOutput, type Tool } from './tool.ts'
import { contentOfBytes, contentOfMcp, type ToolContent } from './tool-content.ts'

/**
 * Runs the tool of a call. Never rejects: an exception, a timeout, an interrupt, invalid arguments, an unknown tool
 * or an unrecordable output becomes an error result that tells the model what to do.
 *
 * @param tools the tools, by name
 * @param signal aborts the call
 * @param clock times the tool's limit. Default: the system's
 * @returns the result; a failure is an error result
 */
export const invoke = (
  call: ToolCallPart,
  tools: ReadonlyMap<string, Tool>,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<ToolResultPart> => invokeRecorded(call, tools, signal, clock)

/** Runs the work of a call, and records how it ended: what it returns is what `body` returns. */
type RecordAround = (
  signal: AbortSignal,
  summarize: (output: unknown) => FailureSummary,
  body: () => Promise<unknown>,
) => Promise<unknown>

/** `invoke` within a function that records the call, if there is one. */
export const invokeRecorded = async (
  call: ToolCallPart,
  tools: ReadonlyMap<string, Tool>,
  signal: AbortSignal,
  clock: Clock,
  record: RecordAround = (_signal, _summarize, body) => body(),
): Promise<ToolResultPart> => {
  const found = tools.get(call.name)
  const limit = new AbortController()
  const timeout = found?.timeout ?? Infinity
  const timer = clock.after(timeout, () =>
    limit.abort(Object.assign(new Error(toolTimedOut(timeout)), { name: 'TimeoutError' })),
  )
  const either = AbortSignal.any([signal, limit.signal])
  let begun = false
  let result: ToolResultPart | undefined
  try {
    await record(either, failureOf, async () => {
      if (found === undefined) throw new CallRefused('UnknownTool', unknownTool(call, tools))
      const { run } = found
      if (run === undefined) throw new CallRefused('NoFunction', 'This tool is run elsewhere, and gave no result.')
      const input = await Promise.race([rejectOnAbort(either), checked(call, found)])
      if (isLeft(input)) throw new CallRefused('InvalidArguments', input.left)
      begun = true
      const output = await Promise.race([
        rejectOnAbort(either),
        (async () => run(input.right as never, { call, signal: either }))(),
      ])
      result = resultOf(call, output)
      return output
    })
    return result ?? errorResult(call, 'The tool gave no result.') // a recorder that did not run it
  } catch (error) {
    if (error instanceof CallRefused) return errorResult(call, error.message)
    if (!either.aborted) return errorResult(call, failedText(error))
    const reason = reasonOf(either.reason)
    return errorResult(call, begun ? `${reason} ${sideEffects}` : notRunText(reason))
  } finally {
    timer.cancel()
  }
}

/** A call whose tool was not run; the message is for the model. */
class CallRefused extends Error {
  constructor(name: string, message: string) {
    super(message)
    this.name = name
  }
}

const unknownTool = ({ name }: ToolCallPart, tools: ReadonlyMap<string, Tool>): string =>
  `There is no tool ${JSON.stringify(name)}. ${tools.size === 0 ? 'There are no tools.' : `The tools are: ${[...tools.keys()].join(', ')}.`}`

/** The failure that a tool returned as a value. */
const failureOf = (output: unknown): FailureSummary => {
  if (output instanceof Error)
    return { status: 'error', ok: false, errorType: output.name, errorMessage: output.message }
  const rich = output instanceof ToolOutput ? output : contentOfMcp(output)
  if (rich?.isError !== true) return {}
  const text = rich.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
  return { status: 'error', ok: false, errorMessage: text }
}

/**
 * Whether a call waits for approval. A call with arguments that its tool would reject does not, since it can have no
 * effects. A call waits if its `needsApproval` throws or has not answered when the signal aborts.
 */
export const waitsForApproval = async (
  call: ToolCallPart,
  tools: ReadonlyMap<string, Tool>,
  signal: AbortSignal,
): Promise<boolean> => {
  const found = tools.get(call.name)
  const needs = found?.needsApproval ?? false
  if (found === undefined || (needs === false && found.run !== undefined)) return false
  const askApproval = async (): Promise<boolean> => {
    const input = await checked(call, found)
    return (
      !isLeft(input) && (found.run === undefined || needs === true || (needs !== false && (await needs(input.right))))
    )
  }
  try {
    return await Promise.race([rejectOnAbort(signal), askApproval()])
  } catch {
    return true
  }
}

/** An error result for a call that did not run, or did not finish. */
export const errorResult = ({ id, name }: ToolCallPart, reason: string): ToolResultPart =>
  toolResultPart(id, [text(reason.toWellFormed())], { name, isError: true })

const failedText = (error: unknown): string => `The tool failed: ${reasonOf(error)}`

export const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const rejectAborted = (): void => reject(signal.reason as Error)
    if (signal.aborted) rejectAborted()
    else signal.addEventListener('abort', rejectAborted) // no options: Node reads them from prototypes, too
  })

const checked = async (call: ToolCallPart, { schema }: Tool): Promise<Either<string, unknown>> => {
  const parsed = parseJson(call.arguments.trim() === '' ? '{}' : call.arguments)
  if (isLeft(parsed))
    return left(
      `The arguments are not valid JSON: line ${parsed.left.line}, column ${parsed.left.column}: expected ${parsed.left.expected}, found ${parsed.left.found}. The tool was not run.`,
    )
  if (schema === undefined) return right(parsed.right)
  try {
    const outcome = await schema['~standard'].validate(parsed.right)
    if (outcome.issues === undefined) return right(outcome.value)
    const issues = outcome.issues.map(({ path = [], message }) => {
      const at = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.')
      return at === '' ? message : `${at}: ${message}`
    })
    return left(`The arguments are not what the tool takes: ${issues.join('; ')}. The tool was not run.`)
  } catch (error) {
    return left(`The arguments could not be checked: ${reasonOf(error)}. The tool was not run.`)
  }
}

/** The result of a call that others ran. */
export const givenResult = (call: ToolCallPart, output: unknown): ToolResultPart => {
  try {
    return resultOf(call, output)
  } catch (error) {
    return errorResult(call, failedText(error))
  }
}

const resultOf = (call: ToolCallPart, output: unknown): ToolResultPart => {
  const { id, name } = call
  if (output instanceof Error) return errorResult(call, failedText(output))
  const rich = output instanceof ToolOutput ? output : (contentOfBytes(output) ?? contentOfMcp(output))
  if (rich === undefined) return toolResultPart(id, [text(outputText(output).toWellFormed())], { name })
  const { content, isError, meta }: ToolContent = rich
  const result = { ...toolResultPart(id, content, { name, ...(isError && { isError }) }), ...present({ meta }) }
  const recordable = decodeMessage({ role: 'tool', content: [result] })
  return isLeft(recordable)
    ? errorResult(call, `The tool's output can't be recorded.`)
    : (recordable.right.content[0] as ToolResultPart)
}

/** Throws for a Map, a Set, an Error or another built-in object that JSON would write as `{}`. */
const refuseEmptied = (value: unknown): void => {
  if (typeof value !== 'object' || value === null || Object.keys(value).length > 0) return
  const type = Object.prototype.toString.call(value).slice('[object '.length, -1)
  if (!writable.has(type)) throw new TypeError(`it has a value of the type ${type}, which would become {}`)
}

const writable: ReadonlySet<string> = new Set(['Object', 'Array', 'String', 'Number', 'Boolean'])

const outputText = (output: unknown): string => {
  if (typeof output === 'string') return output
  try {
    return JSON.stringify(output, (_, value: unknown) => (refuseEmptied(value), value)) ?? ''
  } catch (error) {
    throw new Error(`its output can't be written as JSON: ${reasonOf(error)}`, { cause: error })
  }
}
