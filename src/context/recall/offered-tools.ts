/** The tools of a call, as far as they affect the budget and the markers. */
import type { JsonObject } from '../../json/index.ts'
import { user, type Message } from '../../message/index.ts'
import { recallParameters } from './recall.ts'
import type { Estimator } from '../counting/tokens.ts'
import type { RecallName } from '../showing/represent.ts'
import { memoize } from '../memoize.ts'

/** A tool definition as the model receives it. */
export interface OfferedTool {
  /** Its name. */
  readonly name: string
  /** What the model reads to decide when to call it. */
  readonly description?: string
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject
}

/** The tool that lets the model recall positions: `recall` if the tools are unknown, false if none of them recalls. */
export const recallAmong = (tools: readonly OfferedTool[] | undefined): RecallName =>
  tools === undefined ? 'recall' : (tools.find(({ parameters }) => parameters === recallParameters)?.name ?? false)

/** The tokens of tool definitions, each counted as its JSON. Cost: O(characters), once per tool. */
export const toolTokensOf = (tools: readonly OfferedTool[], estimate: Estimator): number =>
  tools.reduce((sum, tool) => sum + estimate(asMessage(tool)), 0)

/** A definition as a message that an estimator can count. */
const asMessage = memoize(({ name, description, parameters }: OfferedTool): Message =>
  Object.freeze(user(JSON.stringify({ name, description, parameters }))),
)
