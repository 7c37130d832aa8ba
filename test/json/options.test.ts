/** Option names that there are not: plain JavaScript would pass over them. */
import {
  anthropic,
  applyDelta,
  assistant,
  exportSession,
  mend,
  minFidelity,
  openCalls,
  reasoning,
  toolResult,
  createHistory,
  createSession,
  decodeMessage,
  forkSession,
  listSessions,
  memoryStore,
  orThrow,
  restoreHistory,
  settle,
  textOf,
  toolCallsOf,
  user,
  verifySession,
} from 'indelible'
import { deriveContext, estimateTokens, prepareSummaries, recall, recallTool } from 'indelible/context'
import { inputsOf, resume, run, scriptedModel, sessionHandler, tool, toolOutput, turn } from 'indelible/run'
import { anthropicModel } from 'indelible/run/anthropic'
import { geminiModel } from 'indelible/run/gemini'
import { openaiChatModel, openaiResponsesModel } from 'indelible/run/openai'
import { copySession, eraseMessages, follow, proveEntry } from 'indelible/session'
import { blockCache, followLog, keyValueBlocks, removeBlocks, verifyLog } from 'indelible/store'
import { memoryDriver, storeOf } from 'indelible/store/driver'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { decodeResponse, gemini } from 'indelible/codecs/gemini'
import { backupSqlite, sqliteStore } from 'indelible/store/sqlite'
import { describe, expect, it } from 'vitest'
import { agentsSession } from '@indelible/openai-agents'
import { checkKeys, destroyKey, hostKeyText, keyRing, newHostKey, rotateKeys, withKeys } from '@indelible/encryption'
import { createRedactor } from 'indelible/redact'
import { isErased, isText, isToolCall, isToolResult, toolResultsOf } from 'indelible/message'
import { appendUserMessage, checkThread, encodeThread, replaceThreadHistory, toThreadHistory } from 'indelible/thread'
import { postgresStore } from '@indelible/postgres'
import {
  createCallLog,
  createContentStore,
  detectHistoryUse,
  encodeValue,
  openCallLog,
  previewRecords,
  summarizeHistoryUse,
} from '@indelible/records'
import { createRecorder } from '@indelible/recorder'
import {
  newKey,
  readBundle,
  signerOf,
  updateLedger,
  verifyLedger,
  withLedger,
  witnessLedger,
} from '@indelible/evidence'
import { aiSdkModel, chatStore, chatStreams, toUIMessageStream } from '@indelible/ai-sdk'
import { claudeSessionStore } from '@indelible/claude-agent'
import {
  adoptHistory,
  createPendingHistory,
  createRefHistory,
  hydrate,
  hydratePartial,
  refsOf,
} from '@indelible/workflows/refs'
import { createChat, eventsInMemory, eventsInStore, historyActivities } from '@indelible/workflows/activities'
import { importTranscript, readTranscript, readTranscriptStream, writeNative } from '@indelible/transcripts'

const session = await createSession(memoryStore(), { id: 's' })
const store = memoryStore()
const model = scriptedModel([])
const settled = orThrow(settle([user('a')]))
const view = createHistory({ from: [user('a')] }).view()

/** Each function, and a name that is nearly one of its options. */
const calls: readonly (readonly [of: string, wrong: string, right: string | undefined, call: (o: never) => unknown])[] =
  [
    ['createHistory', 'clasify', 'classify', (o) => createHistory(o)],
    ['restoreHistory', 'classifier', 'classify', (o) => restoreHistory({ messages: [] }, decodeMessage, o)],
    ['memoryStore', 'Scope', 'scope', (o) => memoryStore(o)],
    ['sqliteStore', 'readonly', 'readOnly', (o) => sqliteStore(o)],
    ['createSession', 'metdata', 'metadata', (o) => createSession(store, o)],
    ['createSession', 'colour', undefined, (o) => createSession(store, o)],
    ['forkSession', 'meta', 'metadata', (o) => forkSession(store, 's', o)],
    ['listSessions', 'limits', 'limit', (o) => listSessions(store, o)],
    ['verifySession', 'heads', 'head', (o) => verifySession(store, 's', o)],
    ['copySession', 'onProgress', 'progress', (o) => copySession(store, store, 's', o)],
    [
      'importTranscript',
      'onProgress',
      'progress',
      (o) => importTranscript(store, orThrow(readTranscript('[{"role":"user","content":"a"}]')), o),
    ],
    ['readTranscript', 'Strict', 'strict', (o) => readTranscript('[]', o)],
    ['session.append', 'pages', 'page', (o) => session.append(user('a'), o)],
    ['session.append', 'expectedLength', 'expectedLen', (o) => session.append(user('a'), o)],
    ['session.rebase', 'operations', 'operation', (o) => session.rebase(() => [], o)],
    ['session.note', 'op', 'operation', (o) => session.note({ type: 'pin', position: 0 }, o)],
    ['session.pop', 'expected_head', 'expectedHead', (o) => session.pop(o)],
    ['session.rewind', 'expectHead', 'expectedHead', (o) => session.rewind(0, o)],
    ['session.rewind', 'pagekind', 'page', (o) => session.rewind(0, o)],
    ['eraseMessages', 'by_whom', 'by', (o) => eraseMessages(session, [0], o)],
    ['session.update', 'respectLeases', 'respectLease', (o) => session.update(() => undefined, o)],
    ['session.seal', 'respect_lease', 'respectLease', (o) => session.seal(o)],
    ['session.lease', 'tll', 'ttl', (o) => session.lease(o)],
    ['deriveContext', 'bugdet', 'budget', (o) => deriveContext(view, o)],
    ['run', 'tool', 'tools', (o) => run(o)],
    ['proveEntry', 'sizes', 'size', (o) => proveEntry(store, 's', 0, o)],
    ['follow', 'froms', 'from', (o) => follow(session, o)],
    ['follow', 'signals', 'signal', (o) => followLog(store, 's', o)],
    ['backupSqlite', 'target', undefined, (o) => backupSqlite(o)],
    ['recall', 'limits', 'limit', (o) => recall(view, { query: 'a' }, o)],
    ['recallTool', 'maxCharacter', 'maxCharacters', (o) => recallTool(() => view, o)],
    ['sessionHandler', 'leases', 'lease', (o) => sessionHandler(session, o)],
    ['sessionHandler: lease', 'hodler', 'holder', (o) => sessionHandler(session, { lease: o })],
    ['journalEvery', 'byte', 'bytes', (o) => sessionHandler(session, { journalEvery: o })],
    ['agentsSession', 'sessionID', 'sessionId', (o) => agentsSession(store, o)],
    ['postgresStore', 'connexions', 'connections', (o) => postgresStore(o)],
    ['openCallLog', 'durables', 'durable', (o) => openCallLog(o)],
    ['tool', 'needApproval', 'needsApproval', (o) => tool(o)],
    ['toolOutput', 'error', 'isError', (o) => toolOutput('a', o)],
    ['toolResult', 'iserror', 'isError', (o) => toolResult('c', 'a', o)],
    ['reasoning', 'sign', 'signature', (o) => reasoning('a', o)],
    ['scriptedModel', 'result', 'results', (o) => scriptedModel([], o)],
    ['openaiChatModel', 'models', 'model', (o) => openaiChatModel({} as never, o)],
    ['openaiResponsesModel', 'onLoss', 'onLosses', (o) => openaiResponsesModel({} as never, o)],
    ['anthropicModel', 'maxToken', 'maxTokens', (o) => anthropicModel({} as never, o)],
    ['geminiModel', 'skipSignature', 'skipSignatures', (o) => geminiModel({} as never, o)],
    ['aiSdkModel', 'onloss', 'onLosses', (o) => aiSdkModel('a', o)],
    ['toUIMessageStream', 'onerror', 'onError', (o) => toUIMessageStream({} as never, o)],
    ['claudeSessionStore', 'folds', 'fold', (o) => claudeSessionStore(store, o)],
    ['applyDelta', 'resumed', 'resume', (o) => applyDelta(createHistory(), { id: 'a', expectedLen: 0, append: [] }, o)],
    ['prepareSummaries', 'maxToken', 'maxTokens', (o) => prepareSummaries(view, [], undefined, o)],
    ['store.list', 'limits', 'limit', (o) => store.list(o)],
    ['store.read', 'froms', 'from', (o) => store.read('s', o)],
    ['store.create', 'metadata', 'meta', (o) => store.create(o)],
    ['store.append', 'operatoin', 'operation', (o) => store.append('s', o)],
    ['store.update', 'expect', 'expected', (o) => store.update('s', o)],
    ['store.fork', 'metadata', 'meta', (o) => store.fork('s', o)],
    ['store.erase', 'reasons', 'reason', (o) => store.erase(o)],
    ['store.lease', 'tll', 'ttl', (o) => store.lease('s', o)],
    ['store.renew', 'tll', 'ttl', (o) => store.renew('s', o)],
    ['memoryDriver', 'nows', 'now', (o) => memoryDriver(o)],
    ['encode', 'allowed', 'allow', (o) => openaiChat.encode(view, o)],
    ['encode', 'exakt', 'exact', (o) => anthropic.encode(view, o)],
    ['encode', 'skipSignature', 'skipSignatures', (o) => gemini.encode(view, o)],
    ['decodeResponse', 'before', undefined, (o) => decodeResponse({ candidates: [] }, o)],
    ['encodeValue', 'limit', 'limits', (o) => encodeValue(1, o)],
    ['encodeValue: limits', 'sizes', 'size', (o) => encodeValue(1, { limits: o })],
    ['createCallLog: limits', 'sizes', 'size', (o) => createCallLog({ limits: o })],
    ['openCallLog: limits', 'sizes', 'size', (o) => openCallLog({ store, id: 'l', limits: o })],
    ['toThreadHistory', 'deeper', 'deep', (o) => toThreadHistory([], o)],
    ['keyValueBlocks', 'prefixes', 'prefix', (o) => keyValueBlocks({} as never, o)],
    ['blockCache', 'maxByte', 'maxBytes', (o) => blockCache(o)],
    ['createCallLog', 'limit', 'limits', (o) => createCallLog(o)],
    ['createContentStore', 'entrie', 'entries', (o) => createContentStore(o)],
    ['previewRecords', 'late', 'latest', (o) => previewRecords([], o)],
    ['createRefHistory', 'scopes', 'scope', (o) => createRefHistory(o)],
    ['createPendingHistory', 'sessions', 'session', (o) => createPendingHistory(o)],
    ['historyActivities', 'heartbeats', 'heartbeat', (o) => historyActivities(o)],
    ['createRecorder', 'samples', 'sample', (o) => createRecorder(o)],
    ['createChat', 'ids', 'id', (o) => chatStore(store).createChat(o)],
    ['publish', 'tll', 'ttl', (o) => chatStreams(store).publish('c', new ReadableStream(), o)],
    ['resume', 'froms', 'from', (o) => chatStreams(store).resume('c', o)],
    ['removeBlocks', 'prefixes', 'prefix', (o) => removeBlocks({ deletePrefix: () => undefined } as never, o)],
    ['detectHistoryUse', 'name', 'names', (o) => detectHistoryUse('', o)],
    ['summarizeHistoryUse', 'holder', 'holders', (o) => summarizeHistoryUse([], o)],
    ['witnessLedger', 'timeouts', 'timeout', (o) => witnessLedger(store, [], o)],
    ['verifyLedger', 'headOnly', 'headsOnly', (o) => verifyLedger(store, undefined, o)],
    ['readTranscriptStream', 'stricter', 'strict', (o) => readTranscriptStream([] as never, o).next()],
    ['createChat', 'needApproval', 'needsApproval', (o) => createChat(o)],
    ['eventsInMemory', 'topic', 'topicOf', (o) => eventsInMemory(o)],
    ['eventsInStore', 'topic', 'topicOf', (o) => eventsInStore(store, o)],
    ['read', 'afters', 'after', (o) => eventsInMemory().read('a', o)],
    ['read', 'afters', 'after', (o) => eventsInStore(store).read('a', o)],
    ['interrupt', 'behaviour', 'behavior', (o) => run({ model, view: settled }).interrupt(o)],
    ['withLedger', 'everyone', 'every', (o) => withLedger(store, o)],
  ]

/** Each option that is one of a few words, and these words. */
const choices: readonly (readonly [words: string, call: (word: never) => unknown])[] = [
  ['fail, wait, queue', (whenBusy) => turn(session, 'a', { model, whenBusy })],
  ['fail, wait, takeOver', (whenBusy) => resume(session, { model, whenBusy })],
  ['retry, tell, ask', (unfinished) => turn(session, 'a', { model, unfinished })],
  ['fail, wait', (whenBusy) => sessionHandler(session, { lease: { whenBusy } })],
  ['disk, os', (durability) => sqliteStore({ path: 'a.db', durability })],
  ['refuse, read, continue', (plain) => withKeys(store, keyRing([{ id: 'one', key: new Uint8Array(32) }]), { plain })],
  ['own, any', (scopes) => historyActivities({ store, registry: {}, scopes })],
  [
    'own, text, omit',
    (reasoning) => writeNative(view, 'codex', { id: crypto.randomUUID(), now: 0, cwd: '/a', reasoning }),
  ],
  ['open-calls, unsettled', (allow) => anthropic.encode(view, { allow })],
  ['created, appended, entries, tokens, id', (by) => store.list({ by })],
]

it.each(choices)('an option takes one of %s', (words, call) => {
  expect(() => call('nope' as never)).toThrow(new RegExp(`is "nope"; expected one of ${words}$`))
})

it.each([
  [['id'], 'an array'],
  [null, 'null'],
])('options are an object, not %j', (given, found) => {
  expect(() => createSession(store, given as never)).toThrow(
    `createSession takes its options as an object, found ${found}`,
  )
})

it('a task in place of a store, and what is no list of messages, is a TypeError that says so', async () => {
  const task = sqliteStore({ path: 'never-made.db', create: false })
  await task.catch(() => undefined)
  const calls = [createRecorder, withLedger, updateLedger, exportSession, claudeSessionStore, chatStreams] as const
  for (const call of calls)
    await expect(
      (async () => (call as (value: unknown) => unknown)(call === createRecorder ? { store: task } : task))(),
    ).rejects.toThrow(/takes a store, such as memoryStore\(\), found a task: await it/)
  for (const wrong of [createHistory(), session, undefined, 'a'] as never[])
    for (const call of [settle, mend, openCalls])
      expect(() => call(wrong)).toThrow('expected messages: an array, or a view')
  expect(() => minFidelity('gossip' as 'plan')).toThrow('"gossip" is not a page kind')
})

it('options of publish and resume that are passed to chatStreams are refused', () => {
  for (const options of [{ ttl: 1000 }, { from: 1 }])
    expect(() => (chatStreams as (...given: unknown[]) => unknown)(store, options)).toThrow(
      'chatStreams takes only a store: pass `ttl` to publish, and `from` to resume',
    )
})

/** Functions with a value of another type: the first words of the error, and the call. */
const wrongValues: readonly (readonly [error: string, call: (value: never) => unknown])[] = [
  ['textOf takes a message', textOf],
  ['toolCallsOf takes a message', toolCallsOf],
  ['toolResultsOf takes a message', toolResultsOf],
  ['orThrow takes an Either or a task', (value) => orThrow(value)],
  ['toThreadHistory takes an array of items', (value) => toThreadHistory(value)],
  ['appendUserMessage takes an array of items', (value) => appendUserMessage(value, 'a')],
  ['replaceThreadHistory takes an array of items', (value) => replaceThreadHistory({ history: [] }, value)],
  ['checkThread takes an array of items', checkThread],
  ['keyValueBlocks takes a key-value store with a method `mget`', (value) => keyValueBlocks(value)],
  ['removeBlocks takes a key-value store with a method `deletePrefix`', (value) => removeBlocks(value)],
  ['isErased takes a message', isErased],
  ['estimateTokens takes a message', estimateTokens],
  ['a redactor takes a message', (value) => createRedactor().message(value)],
  ['a redactor takes a text', (value) => createRedactor().text(value)],
  ['scriptedModel takes a list of messages', (value) => scriptedModel(value)],
  ['inputsOf takes a session', inputsOf],
  ['storeOf takes a driver', (value) => storeOf(value)],
  ['verifyLog takes a store', (value) => verifyLog(value, 's')],
  ['expected messages: an array, or a view', encodeThread],
  ['adoptHistory takes a history of keys', (value) => adoptHistory({} as never, value)],
  ['backupSqlite needs a path', (path) => backupSqlite({ path, to: 'b.db' })],
  ['a transcript is read from its text or bytes', (value) => readTranscript(value)],
  ['rotateKeys takes a store', (value) => rotateKeys(value, keyRing([newHostKey('a')]))],
  ['checkKeys takes a key ring', (value) => checkKeys(store, value)],
  ['destroyKey takes a key ring', (value) => destroyKey(store, 's', value)],
  ['the name of a host key', hostKeyText],
  ["a key's name", (value) => newKey(value)],
]

it.each(wrongValues)('a value of another type is a TypeError: %s', (error, call) => {
  for (const value of [undefined, {}, 5] as never[]) expect(() => call(value)).toThrow(error)
  for (const value of [undefined, {}, 5] as never[]) expect(() => call(value)).toThrow(TypeError)
})

it('part guards, a circular value, a parsed state and a decoder without an Either get a sentence, too', async () => {
  for (const guard of [isText, isToolCall, isToolResult])
    expect(() => guard(undefined as never)).toThrow(`${guard.name} takes a part of a message, found nothing`)
  const circular: { [name: string]: unknown } = {}
  circular['self'] = circular
  expect(() => createRedactor().json(circular as never)).toThrow('takes plain JSON data, found a circular value')
  const state: unknown = JSON.parse(JSON.stringify(createRefHistory()))
  for (const call of [hydrate, hydratePartial, refsOf])
    await expect((async () => call(store, state as never))()).rejects.toThrow(
      /^expected a history of refs, found .*; parseHistoryJson makes one of a parsed state$/,
    )
  expect(restoreHistory({ messages: [user('a')] }, ((message: unknown) => message) as never)).toMatchObject({
    left: { callback: 'decode', cause: { message: expect.stringMatching(/^it returned .*, not an Either/) as string } },
  })
})

it('orThrow of a promise says to await it; a private key that is no text is a BadKey', () => {
  expect(() => orThrow(Promise.resolve(1) as never)).toThrow(
    'orThrow takes an Either or a task, found a promise: await it',
  )
  expect(() => replaceThreadHistory(undefined as never, [])).toThrow('replaceThreadHistory expects a thread')
  expect([signerOf(undefined as never), readBundle({} as never)]).toMatchObject([
    { left: { _tag: 'BadKey' } },
    { left: { _tag: 'BadBundle', reason: 'it is not a text' } },
  ])
})

describe('an unknown option', () => {
  it.each(calls)('is refused by %s({ %s })', async (of, wrong, right, call) => {
    const output = await (async () => call({ [wrong]: 1 } as never))().then(
      () => 'nothing',
      (error: unknown) => (error instanceof TypeError ? error.message : 'another error'),
    )
    expect(output).toContain(`${of} has no option "${wrong}".`)
    expect(output.match(/Did you mean `(\w+)`\?/)?.[1]).toBe(right)
    expect(output).toMatch(/ Its options: \w+/)
  })
  it('changes nothing', async () => {
    expect(() => session.append(user('a'), { pages: 'plan' } as never)).toThrow(TypeError)
    expect(session.len).toBe(0)
    expect((await listSessions(store)).sessions).toEqual([])
  })
})

it('known options, undefined ones, and options without a prototype pass', async () => {
  const none = Object.assign(Object.create(null), { page: undefined, operation: 'o' }) as object
  await session.append(user('a'), none)
  expect(
    (await run({ model: scriptedModel([assistant('b')]), view: settled, tools: [] }).result()).messages.length,
  ).toBe(2)
  expect(createHistory({ from: undefined } as never).len).toBe(0)
})
