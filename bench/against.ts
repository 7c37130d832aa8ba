/**
 * The record in memory against another version of it: append, views, passes and forks, as ratios of processor time.
 *
 * Both versions run in one process and take turns, so what the machine does meanwhile hits both. Give the folder of the
 * other version, with its node_modules:
 *
 *     git worktree add ../before COMMIT && node --expose-gc against.ts ../../before [title]
 */
import { readTranscript } from '@indelible/transcripts'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as Library from '../src/index.ts'
import { machine } from './measure.ts'
import { messageAt } from './messages.ts'

type Version = typeof Library
type Message = Library.Message
type View = Library.View<Message>

const load = async (root: string): Promise<Version> =>
  (await import(pathToFileURL(resolve(root, 'src/index.ts')).href)) as Version
const [, , other, only] = process.argv
if (other === undefined) throw new TypeError('give the folder of the version to compare with')
const before = await load(other)
const after = await load(fileURLToPath(new URL('..', import.meta.url)))

const example = readFileSync(new URL('../examples/coding-agent.json', import.meta.url), 'utf8')
const transcript = readTranscript(example)
if (transcript._tag === 'Left') throw new Error('the example could not be read')
const real = JSON.parse(JSON.stringify(transcript.right.messages)) as readonly Message[]
const small = Array.from({ length: 1000 }, (_, index) => after.user(`message number ${index}`))
const flat = Array.from({ length: 1000 }, (_, index) => ({ role: 'user', content: `message number ${index}` }) as never)

/** What was decoded is recorded without a second copy, by the version that decoded it. */
const decoded = ({ decodeMessage, orThrow }: Version): readonly Message[] =>
  real.map((message) => orThrow(decodeMessage(message)))
const kinds: readonly (readonly [string, (of: Version) => readonly Message[]])[] = [
  ['real', () => real],
  ['small', () => small],
  ['{ role, content: text }', () => flat],
  ['decoded', decoded],
]

/** One thing to compare: prepared anew for each round, then run, with the number of operations that it does. */
type Job = (of: Version) => { readonly operations: number; readonly run: () => unknown }

let kept: unknown
const spent = (job: Job, of: Version): number => {
  const { operations, run } = job(of)
  globalThis.gc?.()
  const from = process.cpuUsage()
  kept = run()
  const { user, system } = process.cpuUsage(from)
  return ((user + system) * 1000) / operations
}
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

const compare = (title: string, job: Job, rounds = 15, beside: Job = job): void => {
  if (only !== undefined && !title.includes(only)) return
  const times: { readonly was: number; readonly is: number }[] = []
  for (let round = -2; round < rounds; round++) {
    const order = round % 2 === 0 ? [before, after] : [after, before] // who is first pays for what the other left
    const [first, second] = order.map((of) => spent(of === before ? beside : job, of)) as [number, number]
    if (round >= 0) times.push(round % 2 === 0 ? { was: first, is: second } : { was: second, is: first })
  }
  const [was, is] = [median(times.map((time) => time.was)), median(times.map((time) => time.is))]
  const ratio = median(times.map((time) => time.is / time.was))
  const least = Math.min(...times.map((time) => time.is)) / Math.min(...times.map((time) => time.was))
  console.log(`| ${title} | ${figure(was)} | ${figure(is)} | ${ratio.toFixed(2)} | ${least.toFixed(2)} |`)
}
const figure = (ns: number): string => (ns < 10_000 ? `${ns.toPrecision(3)} ns` : `${(ns / 1000).toPrecision(3)} µs`)

const filled = (of: Version, messages: readonly Message[], size: number): Library.History<Message> => {
  const history = of.createHistory<Message>()
  for (let index = 0; index < size; index++) history.append(messages[index % messages.length] as Message)
  return history
}

const label = (size: number): string => size.toLocaleString('en')
console.log(
  `${machine()}, processor time\n\n| | before | now | ratio | of the best rounds |\n|---|---:|---:|---:|---:|`,
)

const appends = 50_000
for (const size of [0, 1000, 100_000, 1_000_000])
  for (const [name, messagesOf] of kinds)
    compare(
      `append at ${label(size)}, ${name}`,
      (of) => {
        const messages = messagesOf(of)
        const history = filled(of, decoded(of), size)
        return {
          operations: appends,
          run: () => {
            for (let index = 0; index < appends; index++) history.append(messages[index % messages.length] as Message)
          },
        }
      },
      size > 100_000 ? 7 : 15,
    )

for (const [name, messagesOf] of kinds)
  compare(`append and view at 1,000, ${name}`, (of) => {
    const messages = messagesOf(of)
    const history = filled(of, decoded(of), 1000)
    return {
      operations: appends,
      run: () => {
        let length = 0
        for (let index = 0; index < appends; index++) {
          history.append(messages[index % messages.length] as Message)
          length += history.view().length
        }
        return length
      },
    }
  })

/** The least that an append which keeps its promise could do: copy and freeze, with no check at all. */
const copyAndFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Object.freeze(Array.from(value, copyAndFreeze)) as T
  const record: Record<string, unknown> = {}
  for (const key of Object.keys(value)) record[key] = copyAndFreeze((value as Record<string, unknown>)[key])
  return Object.freeze(record) as T
}

for (const size of [1000, 100_000, 1_000_000])
  for (const [title, withView] of [
    ['append', false],
    ['append and view', true],
  ] as const)
    compare(
      `${title} of real messages at ${label(size)}, beside copy + freeze + push`,
      (of) => {
        const history = filled(of, decoded(of), size)
        const run = (): unknown => {
          let length = 0
          for (let index = 0; index < appends; index++) {
            history.append(messageAt(index))
            if (withView) length += history.view().length
          }
          return length
        }
        return { operations: appends, run }
      },
      size > 100_000 ? 7 : 15,
      (of) => {
        const list = [...filled(of, decoded(of), size).view()]
        const run = (): unknown => {
          for (let index = 0; index < appends; index++) list.push(copyAndFreeze(messageAt(index)))
          return list
        }
        return { operations: appends, run }
      },
    )

const views = new Map<Version, Map<number, View>>()
const viewOf = (of: Version, size: number): View => {
  const bySize = views.get(of) ?? new Map<number, View>()
  views.set(of, bySize)
  const view = bySize.get(size) ?? filled(of, decoded(of), size).view()
  bySize.set(size, view)
  return view
}
const reading = (title: string, size: number, operations: number, run: (view: View, of: Version) => unknown): void =>
  compare(`${title} at ${label(size)}`, (of) => {
    const view = viewOf(of, size)
    return { operations, run: () => run(view, of) }
  })

for (const size of [100, 100_000, 1_000_000]) {
  reading('view.at', size, 2_000_000, (view) => {
    let found = 0
    for (let index = 0, at = 0; index < 2_000_000; index++, at = (at + 7919) % size)
      if (view.at(at) !== undefined) found++
    return found
  })
  reading('view.pages.at', size, 2_000_000, ({ pages }) => {
    let found = 0
    for (let index = 0, at = 0; index < 2_000_000; index++, at = (at + 7919) % size)
      if (pages.at(at) === 'evidence') found++
    return found
  })
  const rounds = Math.max(1, 500_000 / size)
  const pass = (title: string, run: (view: View) => unknown): void =>
    reading(title, size, rounds * size, (view) => {
      let last: unknown
      for (let round = 0; round < rounds; round++) last = run(view)
      return last
    })
  pass('for…of', (view) => {
    let length = 0
    for (const message of view) length += message.role.length
    return length
  })
  pass('toArray', (view) => view.toArray())
  pass('pages.toArray', (view) => view.pages.toArray())
  pass('pages.count', (view) => view.pages.count('evidence'))
  if (size <= 100_000) pass('JSON.stringify', (view) => JSON.stringify(view))
  const forks = size > 100_000 ? 10 : 200
  reading('fork', size, forks, (view, of) => {
    let last: unknown
    for (let fork = 0; fork < forks; fork++) last = of.createHistory({ from: view })
    return last
  })
}
reading('slice', 1000, 200_000, (view) => {
  let length = 0
  for (let index = 0; index < 200_000; index++) length += view.slice(1, -1).length
  return length
})

const used = (): number => {
  for (let round = 0; round < 3; round++) globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
/** The bytes that the results of `make` take, for one of them. */
const bytes = (title: string, count: number, make: (of: Version) => (index: number) => unknown): void => {
  if (only !== undefined && !title.includes(only)) return
  const [was, is] = [before, after].map((of) => {
    const maker = make(of)
    const list: unknown[] = Array.from({ length: count }, () => undefined)
    maker(0)
    const from = used()
    for (let index = 0; index < count; index++) list[index] = maker(index)
    const taken = (used() - from) / count
    kept = list
    return taken
  }) as [number, number]
  kept = undefined
  console.log(`| ${title} | ${was.toFixed(1)} B | ${is.toFixed(1)} B | ${(is / was).toFixed(2)} | |`)
}

for (const size of [10_000, 100_000, 1_000_000])
  bytes(`bytes of an entry at ${label(size)}`, size, (of) => {
    const history = of.createHistory<number>()
    return () => (history.append(1), undefined)
  })
bytes('bytes of a fork at 100,000', 100, (of) => {
  const view = viewOf(of, 100_000)
  return () => of.createHistory({ from: view })
})
const slices = (use: (view: View) => unknown) => (of: Version) => {
  const view = viewOf(of, 100_000)
  return (index: number) => {
    const slice = view.slice(index % 1000, -1)
    use(slice)
    return slice
  }
}
bytes(
  'bytes of a view',
  20_000,
  slices(() => undefined),
)
bytes(
  'bytes of a view whose at was used',
  20_000,
  slices((view) => view.at(0)),
)
bytes(
  'bytes of a view whose at and slice were used',
  20_000,
  slices((view) => (view.at(0), view.slice(0, 1))),
)
void kept
