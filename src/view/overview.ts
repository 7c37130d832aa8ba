/** What a list shows of a session beside its description: its first words, its models, tokens and money. */
import { callDollars, pricesOf } from '../context/index.ts'
import { isLeft, isObject, parseJson, type Json } from '../json/index.ts'
import { decodeNote, type Usage } from '../notes/index.ts'
import { describeSession, readRange } from '../session/index.ts'
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

/** By the receipts of its calls; where there are none, by what the imported file says. */
const spendingOf = async (store: Store, id: string, from: Json | undefined): Promise<Spending> => {
  const calls: { readonly model: string; readonly usage: Usage }[] = []
  const models = new Set<string>()
  for (const { body } of await store.read(id, { only: 'note' })) {
    if (!body.includes('"receipt"')) continue
    const parsed = parseJson(body)
    const note = isLeft(parsed) ? parsed : decodeNote(parsed.right)
    if (isLeft(note) || note.right.type !== 'receipt') continue
    models.add(note.right.model)
    if (note.right.usage !== undefined) calls.push({ model: note.right.model, usage: note.right.usage })
  }
  if (models.size > 0) return { models: [...models], ...totalOf(calls) }
  const named = isObject(from) && Array.isArray(from['models']) ? from['models'] : []
  const known = named.filter((model): model is string => typeof model === 'string')
  const usage = isObject(from) ? usageIn(from['usage']) : undefined
  // One sum for several models: priced by the first only if there is no other.
  return {
    models: known,
    ...totalOf(usage === undefined ? [] : [{ model: known.length === 1 ? (known[0] as string) : '', usage }]),
    calls: 0,
  }
}

const totalOf = (calls: readonly { readonly model: string; readonly usage: Usage }[]): Omit<Spending, 'models'> => {
  const sum = { input: 0, cached: 0, output: 0 }
  let dollars: number | undefined = calls.length === 0 ? undefined : 0
  for (const { model, usage } of calls) {
    sum.input += usage.input
    sum.cached += usage.cacheRead ?? 0
    sum.output += usage.output
    const prices = pricesOf(model)
    dollars = prices === undefined || dollars === undefined ? undefined : dollars + callDollars(prices, usage)
  }
  return { calls: calls.length, ...sum, ...(dollars !== undefined && { dollars }) }
}

const usageIn = (value: unknown): Usage | undefined => {
  if (!isObject(value)) return undefined
  const { input, output, cacheRead, cacheWrite } = value
  if (typeof input !== 'number' || typeof output !== 'number') return undefined
  return {
    input,
    output,
    ...(typeof cacheRead === 'number' && { cacheRead }),
    ...(typeof cacheWrite === 'number' && { cacheWrite }),
  }
}
