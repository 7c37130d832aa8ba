/**
 * The state of a LangGraph thread of 400 turns, read by a process that has just started, from our saver and from
 * LangGraph's own: each read is a process of its own, and they take turns. `warm` is a new saver in a process that has read
 * before, over the same open file. Milliseconds of the processor, which say more than the clock where others work.
 *
 *     node cold-state.ts [ROUNDS]
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from 'indelible'
import { machine } from './measure.ts'

interface Saver {
  readonly put: (...args: never) => Promise<unknown>
  readonly putWrites: (...args: never) => Promise<unknown>
  readonly getTuple: (
    ...args: never
  ) => Promise<{ checkpoint: { channel_values: Record<string, unknown> } } | undefined>
}

/** Opens the file of a contender. What it needs is loaded here, so that a process loads nothing of the other one. */
const contenders: { readonly [name: string]: (folder: string) => Promise<() => Saver> } = {
  SqliteSaver: async (folder) => {
    const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite')
    const { asBetterSqlite } = await import('./better-sqlite.ts')
    const db = asBetterSqlite(new DatabaseSync(join(folder, 'langgraph.db')))
    return () => new SqliteSaver(db) as unknown as Saver
  },
  IndelibleSaver: async (folder) => {
    const { sqliteStore } = await import('indelible/store/sqlite')
    const langgraph = '@indelible/langgraph' // by a name that the compiler does not follow: here its types are not known
    const { IndelibleSaver } = (await import(langgraph)) as { readonly IndelibleSaver: new (store: Store) => Saver }
    const store = await sqliteStore({ path: join(folder, 'store.db'), durability: 'os' })
    return () => new IndelibleSaver(store)
  },
}

const config = { configurable: { thread_id: 't', checkpoint_ns: '' } }
const read = async (saver: Saver): Promise<number> => {
  const tuple = await saver.getTuple(...([config] as never))
  return (tuple?.checkpoint.channel_values['messages'] as unknown[] | undefined)?.length ?? 0
}

const [, , asked, folderGiven = ''] = argv
if (asked !== undefined && asked in contenders) {
  // One process: what it takes from its start, and for each step.
  const spent = async (work: () => unknown): Promise<number> => {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  let anew = (): Saver => {
    throw new Error('not loaded')
  }
  const load = await spent(async () => (anew = await (contenders[asked] as (typeof contenders)[string])(folderGiven)))
  const cold = await spent(() => read(anew()))
  const warm: number[] = []
  for (let round = 0; round < 20; round++) warm.push(await spent(() => read(anew())))
  console.log(JSON.stringify({ load, cold, warm: warm.toSorted((a, b) => a - b)[10] }))
  process.exit(0)
}

const { AIMessage, HumanMessage } = await import('@langchain/core/messages')
const { emptyCheckpoint, uuid6 } = await import('@langchain/langgraph-checkpoint')
const { textOf } = await import('indelible')
const { messageAt, source } = await import('./messages.ts')
const { conversationOf, turns } = await import('./turns.ts')
const conversation = conversationOf(source, messageAt)
const folder = mkdtempSync(join(tmpdir(), 'indelible-cold-'))
for (const [name, start] of Object.entries(contenders)) {
  const saver = (await start(folder))()
  const state: unknown[] = []
  let parent: unknown = config
  const put = async (at: number, source: string): Promise<void> => {
    const channels = { channel_values: { messages: [...state] }, channel_versions: { messages: at } }
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(at), ...channels }
    parent = await saver.put(...([parent, checkpoint, { source, step: at, parents: {} }, { messages: at }] as never))
  }
  for (let number = 0; number < turns; number++) {
    const [question, answer] = conversation.turn(number)
    state.push(new HumanMessage({ content: textOf(question as never), id: `q${number}` }))
    await put(2 * number, 'input')
    const said = new AIMessage({ content: textOf(answer as never), id: `a${number}` })
    await saver.putWrites(...([parent, [['messages', [said]]], `task ${number}`] as never))
    state.push(said)
    await put(2 * number + 1, 'loop')
  }
  if ((await read((await start(folder))())) !== 2 * turns) throw new Error(`${name} has not what was put`)
}
console.log(`${machine()}; ${source}\n\n${turns} turns; milliseconds of the processor, medians of processes\n`)
type Times = { readonly load: number; readonly cold: number; readonly warm: number }
const times = Object.keys(contenders).map((name) => ({ name, runs: [] as Times[] }))
for (let round = 0; round < Number(asked ?? 15); round++)
  for (const { name, runs } of times)
    runs.push(
      JSON.parse(execFileSync(execPath, [fileURLToPath(import.meta.url), name, folder], { encoding: 'utf8' })) as Times,
    )
const median = (runs: readonly Times[], key: keyof Times): number =>
  runs.map((run) => run[key]).toSorted((a, b) => a - b)[runs.length >> 1] as number
console.log(
  '| | load and open | first getTuple | to the first | of a new saver, warm | to the first |\n|---|---:|---:|---:|---:|---:|',
)
const [first] = times
for (const { name, runs } of times) {
  const cell = (key: 'cold' | 'warm'): string =>
    `${median(runs, key).toFixed(1)} | ${(median(runs, key) / median(first?.runs ?? [], key)).toFixed(2)}×`
  console.log(`| ${name} | ${median(runs, 'load').toFixed(0)} | ${cell('cold')} | ${cell('warm')} |`)
}
rmSync(folder, { recursive: true, force: true })
