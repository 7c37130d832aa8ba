/**
 * Properties that somebody adds to `Object.prototype`: every name of an option, a row, a note and metadata, one
 * at a time, with values that such a field may have. What is recorded, stored, read and sent is what it is without them.
 */
/* oxlint-disable no-extend-native -- that is what is tested */
import { describe, expect, it } from 'vitest'
import {
  applyDelta,
  assistant,
  createHistory,
  createSession,
  decodeMessage,
  exportSession,
  forkSession,
  interruptedResults,
  listSessions,
  mend,
  memoryStore,
  openCalls,
  openOrCreateSession,
  openSession,
  orThrow,
  readSession,
  restoreHistory,
  settle,
  toolCall,
  toolResult,
  user,
  verifySession,
  type Message,
} from 'indelible'
import { allCodecs } from '@indelible/codecs'
import { deriveContext, recall, recallTool } from 'indelible/context'
import { holdSession, verifyLedger } from '@indelible/evidence'
import { openCallLog, recordCall } from '@indelible/records'
import { createRedactor } from 'indelible/redact'
import { searchStore } from 'indelible/search'
import {
  copySession,
  createFork,
  describeSession,
  eraseMessages,
  findMessages,
  proveEntry,
  readRange,
  pending,
} from 'indelible/session'
import { historyHandler, resume, run, scriptedModel, sessionHandler, turn, type RunOptions } from 'indelible/run'
import { exportLines, importTranscript, readTranscript } from '@indelible/transcripts'
import { isFull } from '../rounds.ts'
import { fieldNames, foreign } from './foreign.ts'

/** The names of fields, as the sources spell them, that a program of ours may leave out. */
const optionNames: readonly string[] = [
  ...['page', 'pages', 'tag', 'messages', 'notes', 'redact', 'operation', 'expectedHead', 'expectedLen', 'metadata'],
  ...['key', 'salt', 'erased', 'stored', 'blocks', 'at', 'id', 'head', 'progress', 'limit', 'after'],
  ...['where', 'by', 'ttl', 'holder', 'number', 'lease', 'respectLease', 'ownKey', 'terms', 'erasable', 'encrypt'],
  ...['rows', 'from', 'to', 'only', 'classify', 'check', 'fills', 'budget', 'tools', 'system', 'model', 'signal'],
  ...['tokenizer', 'policy', 'keep', 'summarize', 'reason', 'text'],
  ...['role', 'content', 'type', 'callId', 'arguments', 'source', 'raw', 'provider', 'len', 'position', 'kind'],
  ...['sourceDigest', 'delta', 'append', 'resume', 'parallel', 'maxSteps', 'onEvent', 'scope', 'hash', 'now', 'strict'],
  ...['format', 'origin', 'forkedFrom', 'plain', 'ledger', 'by', 'because', 'until', 'match', 'size', 'root', 'code'],
  ...['name', 'meta', 'isError', 'signature', 'encrypted', 'summary', 'pause'],
  ...['attached', 'sameKey', 'version', 'expected', 'missed', 'plan', 'damaged', 'closed', 'sealed', 'index', 'cause'],
]
// Vitest's loader reads `error` of what it is answered, so that `update` can't load Immer.
const names = [...new Set([...optionNames, ...fieldNames])].filter((name) => name !== 'error')

const values: readonly unknown[] = [
  'evidence',
  1,
  true,
  { role: 'system', content: [{ type: 'text', text: 'EVIL' }] },
  [{ role: 'user', content: [{ type: 'text', text: 'EVIL' }] }],
  () => 'constraint',
]

/** No timer of it fires: how many notes a run's journal has does not depend on how long anything takes. */
const clock = { now: () => 0, after: () => ({ cancel: () => undefined }) }

/** Every public operation of the record, and what reads and writes the formats of others, in order; what each gave. */
const everything = async (): Promise<string> => {
  const out: unknown[] = []
  let place = 0
  const did = async (work: () => unknown): Promise<void> => {
    place++
    try {
      out.push([place, plain(await work())])
    } catch (error) {
      out.push([place, error instanceof Error ? `${error.name}: ${error.message}` : error])
    }
  }
  const store = memoryStore({ now: () => 1_780_000_000_000 })
  const session = await createSession(store, { id: 's' })
  await did(() => session.append(user('one')))
  await did(() => session.append([assistant(toolCall('c', 'f', {})), toolResult('c', 'done')]))
  await did(() => session.append({ messages: [user('two')], notes: [{ type: 'pin', position: 0 }] }))
  await did(() => session.note({ type: 'application', namespace: 'a', content: { b: 1 } }))
  await did(() => session.note({ type: 'page', position: 0, kind: 'plan' }))
  await did(() => session.note({ type: 'pin', position: 1 }))
  await did(() => session.note({ type: 'unpin', position: 1 }))
  await did(() => session.note({ type: 'summary', from: 0, to: 2, text: 'sum' }))
  await did(() => session.rebase(() => [user('three')]))
  await did(() => session.rewind(4, { instead: [user('four')] }))
  await did(() => session.pop())
  await did(() => session.rewind(3))
  await did(() => session.append(user('more'), { page: ['preference'] as never }))
  await did(() => session.update(() => ({ title: 'x' }) as never))
  await did(async () => (await session.lease({ holder: 'h' })).release())
  await did(() => session.refresh())
  await did(() => [
    session.forkedFrom,
    session.conversation(),
    session.at().pages,
    [...session.at().rows()],
    pending(session).calls,
  ])
  await did(() => createSession(store, { id: 'first', messages: [user('a'), assistant('b')], metadata: { a: 1 } }))
  await did(async () => (await openOrCreateSession(store, 'any', { metadata: { a: 1 } })).metadata())
  await did(async () => (await openOrCreateSession(store, 'any', { metadata: { a: 2 } })).metadata())
  await did(() => store.create({ id: 'raw', rows: [{ kind: 'note', body: 'x' }], encrypt: false }))
  await did(async () => {
    const { head } = await store.info('raw')
    return store.append('raw', { expected: head, rows: [{ kind: 'note', body: 'y' }] })
  })
  await did(() => store.read('s'))
  await did(() => store.read('raw', {}))
  await did(() => store.list())
  await did(() => describeSession(store, 's'))
  await did(() => listSessions(store))
  await did(async () => (await openSession(store, 's')).view())
  await did(async () => (await readSession(store, 's')).view())
  await did(() => readRange(store, 's', 1))
  await did(() => verifySession(store, 's'))
  await did(() => forkSession(store, 's', { id: 'fork', at: 2 }))
  await did(() => createFork(store, 's', { id: 'other' }))
  await did(() => findMessages(store, 's', { matching: /two/ } as never))
  await did(() => proveEntry(store, 's', 0))
  const lines = [...exportLines(await exportSession(store, 's'))].join('')
  await did(() => lines)
  await did(() => importTranscript(store, orThrow(readTranscript(lines)), { id: 'copy' }))
  await did(() => copySession(store, orThrow(store.scoped('there')), 's'))
  await did(async () => (await holdSession(store, 'first', { reason: 'r' })).size)
  await did(async () => (await eraseMessages(store, 'copy', [0], { reason: 'r' })).proofs.length)
  await did(async () => Object.keys(await verifyLedger(store)))
  await did(() => store.remove('fork'))

  const history = createHistory<Message>()
  await did(() => history.append(user('a')))
  await did(() => applyDelta(history, { id: 'd', expectedLen: 1, append: [assistant('b')] }))
  await did(() => restoreHistory({ messages: [user('a')] }, decodeMessage))
  await did(() => [
    settle(history.view()),
    mend([toolResult('x', 'y')]),
    openCalls([assistant(toolCall('c', 'f', {}))]),
  ])
  await did(() => interruptedResults(openCalls([assistant(toolCall('c', 'f', {}))]), 'why'))
  await did(() => deriveContext(history.view(), { budget: 1000 } as never))
  await did(() => recall(session.conversation(), { query: 'one' } as never))
  for (const codec of Object.values(allCodecs))
    await did(() => codec.encode(orThrow(settle(session.conversation())) as never))
  const start = (more: Partial<RunOptions>) =>
    run({
      model: scriptedModel([assistant('hi')]),
      clock,
      view: orThrow(settle(createHistory<Message>({ from: [user('hello')] }).view())),
      ...more,
    }).result()
  await did(async () => (await start({ handlers: [historyHandler(createHistory<Message>())] })).messages)
  await did(async () => {
    const ran = await createSession(store, { id: 'ran', messages: [user('hello')] })
    await start({ view: orThrow(settle(ran.conversation())), handlers: [sessionHandler(ran, { clock })] })
    return ran.view()
  })
  await did(async () => {
    const session = await createSession(store, { id: 'turns' })
    const model = scriptedModel([assistant(toolCall('c', 'recall', { query: 'hello' })), assistant('hi')])
    const first = await turn(session, 'hello', { model, clock, budget: 10_000 }).result()
    const again = await openSession(store, 'turns')
    await again.append(user('more'))
    const second = await resume(again, { model: scriptedModel([assistant('there')]), clock }).result()
    return [first.stopReason, second.stopReason, again.view()]
  })
  await did(async () => [
    await searchStore(store, 'one', { in: 'messages', limit: 3 }),
    await searchStore(store, 'good', { sort: 'time' }),
    await searchStore(store, { question: 'Which one is good?' }),
  ])
  await did(() => [recallTool(() => session.conversation(), { maxCharacters: 100 }).run({ query: 'one' })])
  await did(() => createRedactor({ rules: [{ name: 'r', pattern: /two/ }] }).message(user('two')))
  await did(async () => {
    const opened = await openCallLog({ store, id: 'calls', now: () => 1_780_000_000_000 })
    await recordCall(opened.log, { methodName: 'f', callId: 'c' }, () => 1)
    await opened.flush()
    return [opened.report, (await openCallLog({ store, id: 'calls' })).log.view()]
  })
  for (const operation of foreign) await did(operation)
  return JSON.stringify(out)
}

/** A value as data, without what differs in every run. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? null, (_key, inner: unknown) =>
      typeof inner === 'string'
        ? inner.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|recorded-[0-9a-f]{8}|[0-9a-f]{32}/g, 'random')
        : inner,
    ) ?? 'null',
  )

describe('a polluted Object.prototype', () => {
  let found: Promise<string> | undefined
  const withoutPollution = (): Promise<string> => (found ??= everything())
  it('is not needed: each operation works without it', async () => {
    const failed = (JSON.parse(await withoutPollution()) as [number, unknown][]).filter(
      ([, found]) => typeof found === 'string' && !found.startsWith('{'),
    )
    expect(failed).toEqual([])
  })
  it('does not change recorded, stored, read or sent data', async () => {
    const expected = await withoutPollution()
    expect(firstDifference(expected, await everything())).toEqual([undefined, undefined])
    const every = names.flatMap((name) => values.map((value) => [name, value] as const))
    const wrong: unknown[] = []
    const stride = Number(process.env['INDELIBLE_STRIDE'] ?? (isFull ? 1 : Math.ceil(every.length / 3)))
    for (let index = 0; index < every.length; index += stride) {
      const [name, value] = every[index] as (typeof every)[number]
      Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true })
      let found = ''
      try {
        found = await everything().catch((error: unknown) => JSON.stringify([[0, String(error)]]))
      } finally {
        Reflect.deleteProperty(Object.prototype, name)
      }
      if (found !== expected) wrong.push([name, String(value), firstDifference(expected, found)])
    }
    expect(wrong).toEqual([])
  })
  it('is read by no source file for any of these fields', async () => {
    const asked = new Set<string>()
    const most = Error.stackTraceLimit
    for (const name of names)
      Object.defineProperty(Object.prototype, name, {
        configurable: true,
        get: () => {
          Error.stackTraceLimit = 3
          const place = new Error().stack?.split('\n')[2] ?? ''
          Error.stackTraceLimit = most
          if (/[/\\]src[/\\]/.test(place)) asked.add(`${name} ${place.trim()}`)
        },
        set(this: object, value: unknown) {
          Object.defineProperty(this, name, { value, configurable: true, enumerable: true, writable: true })
        },
      })
    try {
      await everything()
    } finally {
      for (const name of names) Reflect.deleteProperty(Object.prototype, name)
    }
    expect([...asked]).toEqual([])
  })
})

/** What was expected and found at the first place that differs, from shortly before the difference on. */
const firstDifference = (expected: string, found: string): unknown => {
  const [a, b] = [JSON.parse(expected), JSON.parse(found)] as [unknown[], unknown[]]
  const at = a.findIndex((item, index) => JSON.stringify(item) !== JSON.stringify(b[index]))
  if (at === -1) return [undefined, undefined]
  const [wanted, given] = [JSON.stringify(a[at]), JSON.stringify(b[at]) ?? '']
  let same = 0
  while (same < wanted.length && wanted[same] === given[same]) same++
  return [wanted, given].map((text) => `${at + 1}: ${text.slice(Math.max(0, same - 60), same + 140)}`)
}
