/** Appends messages to a history of refs whose content was not read. */
import type { Position } from 'indelible/history'
import type { Message } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import type { BlockStore } from 'indelible/store'
import { describe, optionsOf, present } from 'indelible/internal/json'
import { need, type Task } from 'indelible/internal/task'
import { createPendingHistory } from './content.ts'
import { refsSteps, type PersistFault } from './fault.ts'
import { persist } from './persist.ts'
import { checkBlockStore, checkRefHistory, type RefHistory } from './ref-history.ts'

/** How to append messages. */
interface AppendOptions {
  /** The page kind of all of them. Default: each is classified. */
  readonly page?: PageKind
  /** The workflow that they come from, for their refs. Default: unknown. */
  readonly flowId?: string
}

/**
 * Store messages, and append their refs to a history as it was parsed: its content is not read.
 *
 * A retry after a fault appends them again only if nothing was appended: the refs are appended together, after their
 * blocks are stored.
 *
 * Cost    one `putBlocks`, and one `hasBlocks` if there are attachments; nothing of the earlier content
 * @param history the history, from `parseHistoryJson` or `createRefHistory`; it grows
 * @returns the positions of the messages; or `OtherScope`, `MissingBlock`, a store fault: then the history is unchanged
 * @throws TypeError if the history is none of refs, or a value is not a message
 * @example
 * const parsed = orThrow(parseHistoryJson(state))
 * if (parsed.kind === 'refs') await appendMessages(store, parsed.history, [user('go on')])
 */
export const appendMessages = (
  store: BlockStore,
  history: RefHistory,
  messages: readonly Message[],
  options: AppendOptions = {},
): Task<PersistFault, readonly Position[]> => {
  checkBlockStore('appendMessages', store)
  const { scope, session } = checkRefHistory(history)
  const { page, flowId } = optionsOf('appendMessages', options, { page: true, flowId: true })
  if (!Array.isArray(messages))
    throw new TypeError(`appendMessages takes an array of messages, found ${describe(messages)}`)
  const pending = createPendingHistory(present({ scope, session, flowId }))
  for (const message of messages) pending.append(message, page)
  return refsSteps(async function* () {
    const stored = yield* need(persist(store, pending))
    return Object.freeze(
      stored
        .refHistory()
        .refs()
        .map((ref) => history.append(ref)),
    )
  }, 'appendMessages')
}
