/** The cache breaks of an imported session, by the tokens that its file counts beside each answer. */
import { CacheWatch } from '@indelible/recorder/internal'
import { callUsageOf } from '@indelible/transcripts/internal'
import { readRange, type SessionInfo } from 'indelible/session'
import { usesIn } from 'indelible/internal/session'
import type { Store } from 'indelible/store'
import { importedFrom } from '../texts/about.ts'

const messagesAtOnce = 1000

/** How often the cache broke; 0 if the session was not imported, or has receipts, which say more. Cost: O(messages). */
export const importedBreaks = async (store: Store, info: SessionInfo): Promise<number> => {
  const { id, len, head } = info
  if (importedFrom(info)['format'] === undefined) return 0
  const notes = head.size === len ? [] : await store.read(id, { only: 'note' })
  if (usesIn(info, notes).some(({ source }) => source === 'receipt')) return 0
  const cache = new CacheWatch()
  let breaks = 0
  for (let from = 0; from < len; from += messagesAtOnce)
    for (const message of (await readRange(store, id, from, Math.min(len, from + messagesAtOnce))).view) {
      const use = callUsageOf(message)
      if (cache.breakAt(use?.model ?? '', use?.usage, undefined) !== undefined) breaks += 1
    }
  return breaks
}
