/** The tools of a call, as far as they bear on what fits and on what markers say. */
import type { JsonObject } from '../../json/index.ts'
import { user, type Message } from '../../message/index.ts'
import type { RecallName } from '../showing/marker.ts'
import { recallParameters } from '../recall/recall.ts'
import type { Estimator } from '../counting/tokens.ts'
import { once } from '../once.ts'

/** A tool's definition, as a model gets it. */
export interface OfferedTool {
  /** Its name. */
  readonly name: string
  /** What the model reads to decide when to call it. */
  readonly description?: string
  /** JSON Schema of its arguments. */
  readonly parameters: JsonObject
}

/** The tool with which the model gets positions back: `recall` where nobody has said which tools there are. */
export const recallAmong = (tools: readonly OfferedTool[] | undefined): RecallName =>
  tools === undefined ? 'recall' : (tools.find(({ parameters }) => parameters === recallParameters)?.name ?? false)

/** What the definitions of tools take: each as its JSON, by the estimator. Cost: O(their characters), once for each tool. */
export const toolTokensOf = (tools: readonly OfferedTool[], estimate: Estimator): number =>
  tools.reduce((sum, tool) => sum + estimate(asMessage(tool)), 0)

/** A definition as a message that an estimator can count. */
const asMessage = once(({ name, description, parameters }: OfferedTool): Message =>
  Object.freeze(user(JSON.stringify({ name, description, parameters }))),
)
