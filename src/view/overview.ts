/** What a list shows of a session beside its description: its first words, its models, tokens and money. */
import { usageDollars } from '../context/index.ts'
import { isObject, type Json } from '../json/index.ts'
import { describeSession, readRange, readUsage } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import { textOf, type Message } from '../message/index.ts'
import type { Overview } from './protocol.ts'

/** Overviews of sessions, each kept until its session grows. */
export const overviewsOf = (store: Store): ((ids: readonly string[]) => Promise<readonly Overview[]>) => {
  const known = new Map<string, { readonly root: string; readonly overview: Overview }>()
  return async (ids) => {
    const overviews: Overview[] = []
    for (const id of ids) {
      const info = await describeSession(store, id)
      const kept = known.get(id)
      const overview =
        kept?.root === info.head.root
          ? kept.overview
          : { id, words: await wordsOf(store, id), ...(await spendingOf(store, id, info.metadata['from'])) }
      known.delete(id)
      known.set(id, { root: info.head.root, overview })
      if (known.size > mostKept) known.delete(known.keys().next().value as string)
      overviews.push(overview)
    }
    return overviews
  }
}

const mostKept = 20_000
const mostWords = 200

/** What the user says first. Many programs send instructions as the user's own message: such a one is skipped if another follows. */
const wordsOf = async (store: Store, id: string): Promise<string> => {
  const { view } = await readRange(store, id, 0, 12)
  const said = [...view].filter(({ role }) => role === 'user').map((message) => textOf(message as Message).trim())
  const found = said.find((text) => text !== '' && !/^<[\w-]+>/.test(text)) ?? said[0] ?? ''
  return found
    .slice(0, mostWords * 2)
    .replaceAll(/\s+/g, ' ')
    .slice(0, mostWords)
}

type Spending = Omit<Overview, 'id' | 'words'>

/** By the receipts of its calls, and by what the file says that it was imported from. */
const spendingOf = async (store: Store, id: string, from: Json | undefined): Promise<Spending> => {
  const sum = { calls: 0, input: 0, cached: 0, output: 0 }
  const models = new Set<string>()
  const uses = await readUsage(store, id)
  let dollars: number | undefined = uses.some(({ usage }) => usage !== undefined) ? 0 : undefined
  for (const { model, calls, usage } of uses) {
    if (model !== undefined) models.add(model)
    sum.calls += calls
    if (usage === undefined) continue
    sum.input += usage.input
    sum.cached += usage.cacheRead ?? 0
    sum.output += usage.output
    const cost = usageDollars(model, usage, calls)
    dollars = cost === undefined || dollars === undefined ? undefined : dollars + cost
  }
  const named = isObject(from) && Array.isArray(from['models']) ? (from['models'] as readonly unknown[]) : []
  return {
    models: models.size > 0 ? [...models] : named.filter((model) => typeof model === 'string'),
    ...sum,
    ...(dollars !== undefined && { dollars }),
  }
}
