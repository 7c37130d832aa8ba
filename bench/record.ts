/** Append, append + view, slice, iterate, fork by copy, restore: Indelible beside what people use instead. */
import { execFileSync } from 'node:child_process'
import { InMemoryChatMessageHistory } from '@langchain/core/chat_history'
import { AIMessage } from '@langchain/core/messages'
import { MemorySession, type AgentInputItem } from '@openai/agents'
import { produce, setAutoFreeze } from 'immer'
import { List } from 'immutable'
import { create } from 'mutative'
import { createHistory, decodeMessage, restoreHistory, user, type Message } from 'indelible'
import { type Recordable } from 'indelible/history'
import { machine, measure, report, type Contender, type Figure } from './measure.ts'
import { messageAt, source } from './messages.ts'

const sizes = [1_000, 10_000, 100_000, 1_000_000]
const label = (size: number): string => size.toLocaleString('en')
const range = (size: number): Message[] => Array.from({ length: size }, (_, position) => messageAt(position))

/** The least that an append which keeps its promise could do: copy and freeze, with no check at all. */
const copyAndFreeze = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const list: unknown[] = []
    for (let index = 0; index < value.length; index++) list.push(copyAndFreeze(value[index]))
    return Object.freeze(list) as T
  }
  const record: Record<string, unknown> = {}
  for (const key of Object.keys(value)) record[key] = copyAndFreeze((value as Record<string, unknown>)[key])
  return Object.freeze(record) as T
}

/** So many appends at a size, few where each costs much. */
const appends = (size: number, costly: boolean): number => (costly ? Math.max(5, Math.min(500, 2e6 / size)) : 20_000)

const times = (count: number, work: (index: number) => unknown): void => {
  for (let index = 0; index < count; index++) work(index)
}

const appendAt = (size: number): readonly Contender[] => {
  const start = range(size)
  const cheap = appends(size, false)
  const costly = appends(size, true)
  const contenders: Contender[] = [
    {
      name: 'indelible',
      operations: cheap,
      prepare: () => {
        const history = createHistory<Message>({ from: start })
        return () => times(cheap, (index) => history.append(messageAt(index)))
      },
    },
    {
      name: 'floor: copy + freeze + push',
      operations: cheap,
      prepare: () => {
        const array = start.map(copyAndFreeze)
        return () => times(cheap, (index) => array.push(copyAndFreeze(messageAt(index))))
      },
    },
    {
      name: 'array push (no copy)',
      operations: cheap,
      prepare: () => {
        const array = [...start]
        return () => times(cheap, (index) => array.push(messageAt(index)))
      },
    },
    {
      name: 'structuredClone + push',
      operations: cheap,
      prepare: () => {
        const array = [...start]
        return () => times(cheap, (index) => array.push(structuredClone(messageAt(index))))
      },
    },
    {
      name: 'array spread',
      operations: costly,
      prepare: () => {
        let array = [...start]
        return () => times(costly, (index) => (array = [...array, messageAt(index)]))
      },
    },
    {
      name: 'Immer produce',
      operations: costly,
      prepare: () => {
        let array: readonly Message[] = start
        return () =>
          times(costly, (index) => (array = produce(array, (draft) => void draft.push(messageAt(index) as never))))
      },
    },
    {
      name: 'Mutative create',
      operations: costly,
      prepare: () => {
        let array: readonly Message[] = start
        return () =>
          times(
            costly,
            (index) => (array = create(array, (draft: Message[]) => void draft.push(messageAt(index) as never))),
          )
      },
    },
    {
      name: 'Immutable List.push',
      operations: cheap,
      prepare: () => {
        let list = List(start)
        return () => times(cheap, (index) => (list = list.push(messageAt(index))))
      },
    },
    {
      name: 'LangChain InMemoryChatMessageHistory',
      operations: cheap,
      prepare: () => {
        const history = new InMemoryChatMessageHistory(start.map(asLangChain))
        const next = Array.from({ length: cheap }, (_, index) => asLangChain(messageAt(index)))
        return async () => {
          for (const message of next) await history.addMessage(message)
        }
      },
    },
    {
      name: 'OpenAI Agents MemorySession',
      operations: costly,
      prepare: () => {
        const session = new MemorySession({ initialItems: start.map(asAgentItem) })
        return async () => {
          for (let index = 0; index < costly; index++) await session.addItems([asAgentItem(messageAt(index))])
        }
      },
    },
  ]
  return contenders
}

/** The smallest messages there are: what an append costs beside what a message costs. */
const smallest = (size: number): readonly Contender[] => {
  const operations = 20_000
  const flat = Array.from({ length: 1000 }, (_, index) => ({ role: 'user', content: `message number ${index}` }))
  const parts = flat.map(({ content }) => user(content))
  const filled = <T>(of: readonly T[]): T[] => Array.from({ length: size }, (_, index) => of[index % 1000] as T)
  const appending =
    <T extends Recordable<T>>(of: readonly T[]) =>
    () => {
      const history = createHistory<T>({ from: filled(of) })
      return () => times(operations, (index) => history.append(of[index % 1000] as T))
    }
  const pushing =
    <T>(of: readonly T[]) =>
    () => {
      const array = filled(of).map(copyAndFreeze)
      return () => times(operations, (index) => array.push(copyAndFreeze(of[index % 1000] as T)))
    }
  return [
    { name: 'floor: { role, content: text }', operations, prepare: pushing(flat) },
    { name: 'indelible: { role, content: text }', operations, prepare: appending(flat) },
    { name: 'floor: user(text)', operations, prepare: pushing(parts) },
    { name: 'indelible: user(text)', operations, prepare: appending(parts) },
  ]
}

const textOf = (message: Message): string => message.content.map((part) => ('text' in part ? part.text : '')).join('')
const asLangChain = (message: Message): AIMessage => new AIMessage(textOf(message))
const asAgentItem = (message: Message): AgentInputItem => ({ role: 'user', content: textOf(message) })

/** What a step does that appends and then reads everything so far, keeping what was read before intact. */
const appendAndView = (size: number): readonly Contender[] => {
  const start = range(size)
  const cheap = appends(size, false)
  const costly = appends(size, true)
  return [
    {
      name: 'indelible',
      operations: cheap,
      prepare: () => {
        const history = createHistory<Message>({ from: start })
        return () => times(cheap, (index) => (history.append(messageAt(index)), history.view().at(-1)))
      },
    },
    {
      name: 'array push + copy',
      operations: costly,
      prepare: () => {
        const array = [...start]
        return () => times(costly, (index) => (array.push(messageAt(index)), [...array].at(-1)))
      },
    },
    {
      name: 'Immer produce',
      operations: costly,
      prepare: () => {
        let array: readonly Message[] = start
        return () =>
          times(costly, (index) =>
            (array = produce(array, (draft) => void draft.push(messageAt(index) as never))).at(-1),
          )
      },
    },
    {
      name: 'Immutable List.push',
      operations: cheap,
      prepare: () => {
        let list = List(start)
        return () => times(cheap, (index) => (list = list.push(messageAt(index))).last())
      },
    },
  ]
}

const sliceAt = (size: number): readonly Contender[] => {
  const view = createHistory<Message>({ from: range(size) }).view()
  const array = range(size)
  const list = List(array)
  const costly = appends(size, true)
  return [
    { name: 'indelible', operations: 20_000, prepare: () => () => times(20_000, () => view.slice(1, -1)) },
    { name: 'array slice', operations: costly, prepare: () => () => times(costly, () => array.slice(1, -1)) },
    { name: 'Immutable List.slice', operations: 20_000, prepare: () => () => times(20_000, () => list.slice(1, -1)) },
  ]
}

const iterateAt = (size: number): readonly Contender[] => {
  const view = createHistory<Message>({ from: range(size) }).view()
  const array = range(size)
  const list = List(array)
  const rounds = Math.max(1, 200_000 / size)
  const count = (messages: Iterable<{ readonly role: string }>): number => {
    let length = 0
    for (const message of messages) length += message.role.length
    return length
  }
  return [
    { name: 'indelible', operations: size * rounds, prepare: () => () => times(rounds, () => count(view)) },
    { name: 'array', operations: size * rounds, prepare: () => () => times(rounds, () => count(array)) },
    { name: 'Immutable List', operations: size * rounds, prepare: () => () => times(rounds, () => count(list)) },
  ]
}

const forkAt = (size: number): readonly Contender[] => {
  const view = createHistory<Message>({ from: range(size) }).view()
  const array = range(size)
  const rounds = Math.max(1, 20_000 / size)
  return [
    { name: 'indelible', operations: rounds, prepare: () => () => times(rounds, () => createHistory({ from: view })) },
    { name: 'array spread', operations: rounds, prepare: () => () => times(rounds, () => [...array]) },
    { name: 'structuredClone', operations: 1, prepare: () => () => structuredClone(array) },
  ]
}

const restoreAt = (size: number): readonly Contender[] => {
  const view = createHistory<Message>({ from: range(size) }).view()
  const text = JSON.stringify({ messages: view, pages: view.pages })
  return [
    {
      name: 'indelible: parse + restore',
      operations: size,
      prepare: () => () => restoreHistory<Message>(JSON.parse(text), decodeMessage),
    },
    { name: 'JSON.parse', operations: size, prepare: () => () => JSON.parse(text) },
    { name: 'JSON.parse + structuredClone', operations: size, prepare: () => () => structuredClone(JSON.parse(text)) },
  ]
}

/** Bytes that the record itself takes for an entry: with numbers as messages, there is nothing else to take any. */
const overhead = (size: number): number => {
  const used = (): number => {
    globalThis.gc?.()
    globalThis.gc?.()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = used()
  const history = createHistory<number>()
  for (let index = 0; index < size; index++) history.append(1)
  const bytes = (used() - before) / size
  return history.len === size ? bytes : NaN
}

const table = async (
  title: string,
  of: (size: number) => readonly Contender[],
  rounds: number,
  largest = Infinity,
): Promise<void> => {
  if (only !== undefined && !title.toLowerCase().startsWith(only)) return
  const rows: [string, readonly Figure[]][] = []
  for (const size of sizes.filter((each) => each <= largest))
    rows.push([label(size), await measure(of(size), size > 100_000 ? 3 : rounds)])
  report(title, rows)
}

const only = process.argv[2]
setAutoFreeze(true)
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
console.log(`${machine()}, commit ${commit}\n${source}. Medians; in brackets, how many times the first column.`)
await table('Append, at a length of', appendAt, 7)
await table('Smallest messages: append, at a length of', smallest, 31, 100_000)
await table('Append and view, at a length of', appendAndView, 5)
await table('Slice, at a length of', sliceAt, 5)
await table('Iterate: for one message, at a length of', iterateAt, 5)
await table('Fork by copy, at a length of', forkAt, 5)
await table('Restore: for one message, at a length of', restoreAt, 3, 100_000) // a million of these are more JSON than fits a string
console.log('\n### Overhead of the record, bytes for an entry\n')
if (only === undefined || only === 'overhead')
  for (const size of [...sizes, 1_500_000]) console.log(`- ${label(size)} entries: ${overhead(size).toFixed(1)}`)
