/**
 * The work that a durable workflow can't do itself, as plain functions from JSON to JSON, so that
 * any engine can host them. Results hold refs and no content, except those of `hydrate`.
 *
 * They throw `ActivityFailure`, or after a cancellation the engine's own reason.
 */
import { digestOf } from 'indelible/internal/proof'
import { formatPath, isLeft } from 'indelible/internal/json'
import { decodeMessage, type MessageFault } from 'indelible/message'
import { isPageKind } from 'indelible/pages'
import { isPlaceholder } from 'indelible/internal/entry'
import { createRefHistory, growRefTree, hydrate, type MessageRef, type RefTree } from '../refs/index.ts'
import { answerAction, whyRefused } from './actions.ts'
import { checkAction, require } from './check.ts'
import { ActionEnd } from './action-end.ts'
import { ActivityCancelled, ActivityFailed, faultOf, rightOrFail } from './activity-errors.ts'
import { failureOf } from './failure.ts'
import { hostOf, jsonOf, storeMessage, type ActivityOptions, type Host } from './host.ts'
import type {
  AdoptResult,
  AppendInput,
  AppendResult,
  EndInput,
  ForgetInput,
  ForgetResult,
  HistoryActivities,
  HistoryInput,
  KeepInput,
  KeepResult,
  StreamResult,
} from './input.ts'
import { manage } from './manage.ts'
import { runTool } from './run-tool.ts'
import { streamKey, runStream, type Streams } from './stream.ts'

/**
 * Make the activities on a store and models. Give their functions to the engine, and `chatStep` to the workflow.
 *
 * @param options the store, the models, and the callbacks of the engine
 * @example
 * const activities = historyActivities({ store, registry, events, heartbeat: (beat) => Context.current().heartbeat(beat) })
 */
export const historyActivities = (options: ActivityOptions): HistoryActivities => {
  const host = hostOf(options)
  const streams: Streams = new Map()
  return Object.freeze<HistoryActivities>({
    appendMessage: (input) => reportFailure(host, () => append(host, input)),
    adopt: ({ history }) => reportFailure(host, () => adoptHistory(host, history)),
    keepRefs: (input) => reportFailure(host, () => keepRefs(host, input)),
    manage: (input) => reportFailure(host, () => manage(host, input)),
    runTool: (input) => reportFailure(host, () => runTool(host, input)),
    hydrate: (input) =>
      reportFailure(host, async () => {
        const { refs } = await host.read(input.history)
        const view = rightOrFail(await hydrate(host.open(refs.scope).blocks, refs)()).view()
        return { messages: view.toArray(), pages: [...view.pages] }
      }),
    stream: (input) => reportFailure(host, () => runStream(host, streams, input)),
    endStream: (input) => reportFailure(host, () => endAction(host, streams, input)),
    forgetActions: (input) => reportFailure(host, () => forgetOld(host, input)),
  })
}

/** Runs an activity, and reports a failure to the host before throwing it. */
const reportFailure = async <T>(host: Host, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ActivityCancelled) throw error.reason
    const fault = faultOf(error)
    host.failed(fault)
    throw host.failure(failureOf(fault))
  }
}

const append = async (host: Host, { action, message, page, scope }: AppendInput): Promise<AppendResult> => {
  checkAction(action)
  const { blocks, actions } = host.open(scope)
  const decoded = decodeMessage(message)
  if (isLeft(decoded)) throw new ActivityFailed({ _tag: 'InvalidInput', reason: whyNoMessage(decoded.left) })
  const isMessage = !isPlaceholder(decoded.right)
  require(isMessage, 'the message is a placeholder for content that was not found; expected a message with its content')
  require(page === undefined || isPageKind(page), 'the page should be a page kind')
  const input = digestOf(JSON.stringify(['append', decoded.right, page ?? null]))
  const known = rightOrFail(await actions.find(action))
  const refusal = known && whyRefused(action, input, known)
  if (refusal !== undefined) throw new ActivityFailed(refusal)
  if (known?.result !== undefined) return known.result as unknown as AppendResult // as it was noted here
  const ref = await storeMessage(blocks, decoded.right, page)
  return rightOrFail(await actions.note(action, answerAction(action, input, jsonOf({ ref }), true)))
    .result as unknown as AppendResult
}

/** The path and the expected shape, without the value found. */
const whyNoMessage = (fault: MessageFault): string =>
  `${formatPath(fault.path) || 'the message'} should be ${fault._tag === 'UnexpectedShape' ? fault.expected : 'plain JSON data'}`

const adoptHistory = async (host: Host, history: HistoryInput['history']): Promise<AdoptResult> => {
  const { refs, losses } = await host.read(history)
  return { history: refs.toJSON(), losses }
}

const keepRefs = async (host: Host, { tree, refs, scope }: KeepInput): Promise<KeepResult> => {
  const { blocks } = host.open(scope)
  const read = checkRefs(blocks.scope, tree, refs)
  const kept = rightOrFail(await growRefTree(blocks, tree, read)())
  return { ...(kept !== undefined && { tree: kept }) }
}

/** Checks refs and returns them. Throws ActivityFailed. */
const checkRefs = (scope: string, tree: RefTree | undefined, from: readonly MessageRef[]): readonly MessageRef[] => {
  try {
    return createRefHistory({ scope, tree, from }).since()
  } catch (error) {
    throw new ActivityFailed({
      _tag: 'InvalidInput',
      reason: error instanceof Error ? error.message : 'refs should be a list of refs',
    })
  }
}

const forgetOld = async (host: Host, { olderThan, scope }: ForgetInput): Promise<ForgetResult> => {
  const isAge = typeof olderThan === 'number' && olderThan >= 0
  require(isAge, 'olderThan should be a number of milliseconds, at least 0')
  const { actions } = host.open(scope)
  return { forgotten: rightOrFail(await actions.forget(host.now() - olderThan)) }
}

/** Ends an action that was given up. Its attempt is one above the last, so a running one no longer counts. */
const endAction = async (host: Host, streams: Streams, { action, scope }: EndInput): Promise<void> => {
  checkAction(action)
  const opened = host.open(scope)
  const known = rightOrFail(await opened.actions.find(action))
  streams.get(streamKey(opened.blocks.scope, action))?.supersede()
  const attempt = (known?.attempt ?? 0) + 1
  const ending = new ActionEnd(host, action, opened.actions)
  if (known?.result !== undefined) await ending.ofAnswer(known.result as Partial<StreamResult>, attempt, () => 0)
  else
    await ending.tell(
      { type: 'stream_end', outcome: 'failed', reason: known?.failure?.message ?? 'The action was given up.' },
      attempt,
      () => 0,
    )
}
