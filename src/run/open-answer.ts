/** An answer with unanswered calls: a run ended for approval or died, and another run continues it. */
import { isLeft, isObject, ownFields, present, snapshot, sortKeys, type JsonObject } from '../json/index.ts'
import { decodeMessage, type Message, type Sequence, type ToolCallPart, type ToolResultPart } from '../message/index.ts'
import { callsOf, indelibleMetaOf } from '../message/internal.ts'
import { rangeDigest } from '../notes/internal.ts'
import type { ModelResponse } from './model/response.ts'

/** A call that waits for approval, or for its result. */
export interface WaitingCall extends ToolCallPart {
  /** The token for `approve`, `deny` and `results`. It covers this call of this step and no other. */
  readonly approval: string
  /** What it waits for: an approval; or, if its tool has no `run`, the result. */
  readonly needs: 'approval' | 'result'
}

/** A step that waits. Plain JSON: it can be stored for days. */
export interface OpenAnswer {
  /** The id of the step and of its later delta. */
  readonly step: string
  /** The digest of the messages before the step, so that no other view is taken for them. */
  readonly viewDigest: string
  /** The model's answer. */
  readonly response: ModelResponse
  /** The results so far. */
  readonly results: readonly ToolResultPart[]
  /** The calls that wait for approval, each with its token. */
  readonly calls: readonly WaitingCall[]
  /** The ids of those calls that a run had started before it died: they may have had side effects. Default: none. */
  readonly started?: readonly string[]
}

/** Decisions about waiting calls, by the tokens (`approval`) of the calls in a result's `open`. */
export interface Decisions {
  /** Tokens of calls to run, optionally with other arguments. A token from another step has no effect. Default: none. */
  readonly approve?: readonly (string | Approval)[]
  /** Tokens of calls not to run, optionally with a reason for the model. Default: none. */
  readonly deny?: readonly (string | Denial)[]
  /** Results of calls whose tools have no `run`; or of others, which then don't run. Default: none. */
  readonly results?: readonly CallResult[]
}

/** A call to run with other arguments than the model's. */
interface Approval {
  /** The token of the call. */
  readonly approval: string
  /** The arguments. The result has them in `meta.indelible.arguments`. Default: those of the model. */
  readonly arguments?: JsonObject
}

/** The result of a call that others ran: the browser, a person, another service. */
export interface CallResult {
  /** The token of the call. */
  readonly approval: string
  /** What a tool would return: a text, JSON data, `toolOutput`, a result in MCP's shape, bytes. */
  readonly output: unknown
}

/** A call to deny. */
export interface Denial {
  /** The token of the call. */
  readonly approval: string
  /** The reason shown to the model. Default: only that the call was denied. */
  readonly reason?: string
}

const prefix = 'approval_'

/** The token of a call. It covers the step and everything that would be run, because a model may reuse an id. */
export const approvalOf = (step: string, { id, name, arguments: input }: ToolCallPart): string =>
  prefix + rangeDigest([step, id, name, input])

export const withApproval = (step: string, call: ToolCallPart, needs: WaitingCall['needs']): WaitingCall =>
  Object.freeze({ ...call, approval: approvalOf(step, call), needs })

/** What was decided about a call. */
export type Decision =
  | { readonly type: 'approved'; readonly arguments?: JsonObject }
  | { readonly type: 'denied'; readonly reason?: string }
  | { readonly type: 'answered'; readonly output: unknown }

/** The decisions by the tokens of their calls. */
export type DecisionByToken = ReadonlyMap<string, Decision>

/** A copy of decisions. Of several about one call a denial counts first. Throws a TypeError for values that are not tokens. */
export const decisionsOf = ({ approve = [], deny = [], results = [] }: Decisions): DecisionByToken => {
  const decided = new Map<string, Decision>()
  const add = (name: keyof Decisions, value: readonly unknown[], type: Decision['type']): void => {
    for (const item of value) {
      const { approval, ...fields } = isObject(item)
        ? ownFields(item)
        : { approval: type === 'answered' ? undefined : item }
      if (typeof approval !== 'string' || !approval.startsWith(prefix))
        throw new TypeError(
          `${name} takes the token of a waiting call (result.open.calls[…].approval), not ${JSON.stringify(approval)}`,
        )
      decided.set(approval, { ...fields, type } as Decision)
    }
  }
  add('approve', approve, 'approved')
  add('results', results, 'answered')
  add('deny', deny, 'denied')
  return decided
}

/**
 * A result with the decision about its call in `meta.indelible`: as `approval`; or as `answered`, the token, if others gave
 * the result. The same result if nobody decided.
 */
export const withDecision = (result: ToolResultPart, token: string, decision: Decision | undefined): ToolResultPart => {
  if (decision === undefined) return result
  if (decision.type === 'answered') return withMeta(result, { answered: token })
  const reason = decision.type === 'denied' ? decision.reason : undefined
  return withMeta(result, { approval: { id: token, approved: decision.type === 'approved', ...present({ reason }) } })
}

const withMeta = (result: ToolResultPart, decision: JsonObject): ToolResultPart =>
  snapshot({ ...result, meta: { ...result.meta, indelible: { ...indelibleMetaOf(result), ...decision } } })

/** The decision that `withDecision` wrote, as a word and the token; undefined if there is none. */
export const recordedDecision = (result: ToolResultPart): string | undefined => {
  const { approval, answered } = ownFields(indelibleMetaOf(result))
  if (typeof answered === 'string') return `answered ${answered}`
  const { id, approved } = isObject(approval) ? ownFields(approval) : {}
  return typeof id === 'string' ? `${approved === true ? 'approved' : 'denied'} ${id}` : undefined
}

/** The digest of the messages before a step; that of equal messages is equal, whatever the order of their fields. */
export const viewDigestOf = (view: Sequence<Message>): string => rangeDigest(Array.from(view, sortKeys))

/** Throws a TypeError if `open` is not from a result or belongs to another view, or if decisions come without it. */
export const checkOpen = (open: OpenAnswer | undefined, view: Sequence<Message>, decisions: DecisionByToken): void => {
  if (open === undefined && decisions.size > 0)
    throw new TypeError(
      'run: `approve`, `deny` and `results` are decisions about the calls of `open`; pass result.open too',
    )
  if (open === undefined) return
  checkStep('run', open)
  const known = new Set([
    ...open.calls.map(({ approval }) => approval),
    ...callsOf(open.response.message).map((call) => approvalOf(open.step, call)),
  ])
  const other = [...decisions.keys()].find((token) => !known.has(token))
  if (other !== undefined) throw new TypeError(`run: ${other} is the token of no call of \`open\`; nothing was run`)
  if (open.viewDigest !== viewDigestOf(view))
    throw new TypeError(
      'run: `view` is not the record before the step of `open`: it has that step already, has grown or differs. Pass the `messages` of the result that has `open`; nothing was run',
    )
}

/** Throws a TypeError if a step is not from a result. */
export const checkStep = (call: string, open: OpenAnswer): void => {
  const { step, viewDigest, response, results, calls } = Object(open) as Partial<OpenAnswer>
  const isCall = (call: unknown): boolean => typeof (Object(call) as Partial<WaitingCall>).approval === 'string'
  const wrong =
    typeof step !== 'string'
      ? 'step'
      : typeof viewDigest !== 'string'
        ? 'viewDigest'
        : isLeft(decodeMessage(Object(response).message))
          ? 'response.message'
          : !Array.isArray(results) || isLeft(decodeMessage({ role: 'tool', content: results }))
            ? 'results'
            : !Array.isArray(calls) || !calls.every(isCall)
              ? 'calls'
              : undefined
  if (wrong !== undefined)
    throw new TypeError(
      `${call}: \`open.${wrong}\` is not that of a step that waits; pass \`open\` of a result, unchanged`,
    )
}
