/**
 * Workflows: bytes of engine state and milliseconds of a step (one question, one answer) in conversations of 1,000 and 20,000
 * messages of 1 kB, on SQLite. Refs named by their tree, refs as a list, and contents in the workflow's state.
 *
 * The contenders take turns, several rounds; the median of each is printed. `node workflows.ts [messages…]`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assistant, user, type Message } from 'indelible'
import { chatStep, historyActivities, type StreamInput } from '@indelible/workflows/activities'
import { createPendingHistory, createRefHistory, persist, type RefHistory } from '@indelible/workflows/refs'
import type { Model } from 'indelible/run'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'

const counts = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [1000, 20_000]
const rounds = 9
const messageAt = (position: number): Message =>
  (position % 2 === 0 ? user : assistant)(`message ${position}: `.padEnd(1000, 'words of a turn '))

/** Answers at once: what is measured is everything around the model. */
const model: Model = {
  name: 'quick',
  stream: async function* () {
    yield { type: 'finish', message: messageAt(1), reason: 'end_turn', usage: { input: 1, output: 1 } }
  },
}
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

process.stdout.write(`${machine()}\n`)
for (const count of counts) {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
  const store = await sqliteStore({ path: join(folder, 'workflows.db') })
  const host = historyActivities({ store, registry: { openai: { apiKey: 'k', model: () => model } } })
  const messages = Array.from({ length: count }, (_, position) => messageAt(position))
  const refs = (await persist(store, createPendingHistory({ from: messages }))).refHistory().refs()

  /** What an engine writes of a step: inputs and results of its activities, as JSON. */
  let written = 0
  const recorded = async <T>(input: unknown, work: () => Promise<T>): Promise<T> => {
    written += JSON.stringify(input).length
    const output = await work()
    written += JSON.stringify(output ?? null).length
    return output
  }
  let action = 0
  const limit = { maxChars: 20_000 }
  const withRefs = (history: RefHistory, tree: boolean) => async (): Promise<void> => {
    const question = messageAt(2 * ++action)
    const { ref } = await host.appendMessage({ action: `${count} message ${action} ${tree}`, message: question })
    history.append(ref)
    const activities = { stream: (input: StreamInput) => recorded(input, () => host.stream(input)) }
    await chatStep(activities, history, { action: `${count} ${action} ${tree}`, model: { name: 'gpt-x' }, limit, tree })
  }
  const treed = createRefHistory({ from: refs })
  for (let added = treed.since(); added.length > 50; added = treed.since()) {
    const { tree } = await host.keepRefs({ refs: added.slice(0, 50), ...(treed.tree && { tree: treed.tree }) })
    if (tree !== undefined) treed.keep(tree)
  }
  /** The same with the messages in the workflow's state: each step is given all of them. */
  const contents = [...messages]
  const withContents = async (): Promise<void> => {
    contents.push(messageAt(2 * ++action))
    const answer = await recorded({ messages: contents }, async () => {
      const { messages } = JSON.parse(JSON.stringify({ messages: contents })) as {
        readonly messages: readonly Message[]
      }
      let last: Message | undefined
      for await (const event of model.stream(
        { messages: messages, tools: [], parameters: {} } as never,
        new AbortController().signal,
      ))
        if (event.type === 'finish') last = event.message
      return last as Message
    })
    contents.push(answer)
  }
  const contenders: readonly (readonly [string, () => Promise<void>])[] = [
    ['refs, named by their tree', withRefs(treed, true)],
    ['refs, as a list', withRefs(createRefHistory({ from: refs }), false)],
    ['contents in the state', withContents],
  ]
  const all = contenders.map(([name]) => ({ name, ms: [] as number[], bytes: [] as number[] }))
  for (let round = 0; round < rounds; round++)
    for (const [index, [, step]] of contenders.entries()) {
      written = 0
      const from = performance.now()
      await step()
      all[index]?.ms.push(performance.now() - from)
      all[index]?.bytes.push(written)
    }
  for (const { name, ms, bytes } of all)
    process.stdout.write(
      `${String(count).padStart(6)} messages  ${name.padEnd(26)} ${String(median(bytes)).padStart(10)} bytes a step ${median(ms).toFixed(1).padStart(8)} ms a step\n`,
    )
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}
