/** What the recorder appends to, where the store refuses an append: it knows no more than the record has. */
import { isLeft, left } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { assistant, createSession, memoryStore, textOf, user, type Message } from 'indelible'
import type { Store } from 'indelible/store'
import { storeTask } from '../../../src/store/internal.ts'
import { Conversation } from '../src/conversations/conversation.ts'
import { Conversations } from '../src/conversations/conversations.ts'
import {
  baseOf,
  compactionOf,
  noBase,
  noteOfBase,
  type Compaction,
  type IndexedMessages,
} from '../src/conversations/compaction.ts'
import { identityOf } from '../src/messages/identity.ts'

const receipt = { type: 'receipt', len: 0, contextDigest: '0'.repeat(64), model: 'm' } as const

it("an append refused by the store leaves the conversation's state unchanged and can be repeated", async () => {
  const inner = memoryStore()
  let refuses = false
  const store: Store = {
    ...inner,
    append: (id, append) =>
      refuses
        ? storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: new Error('disk') }), 'append')
        : inner.append(id, append),
  }
  const conversation = new Conversation(await createSession(store), undefined)
  const texts = (): readonly string[] => conversation.session.conversation().toArray().map(textOf)
  const compaction: Compaction = { upTo: 1, summary: 'asked', places: ['new', 1, 'new'] }
  const compacted: readonly Message[] = [user('in short'), assistant('an answer'), user('next')]
  const doings = [
    [() => conversation.replaceFrom(0, [user('a question')]), ['a question'], 1],
    [() => conversation.finish([assistant('an answer')], receipt), ['a question', 'an answer'], 2],
    [() => conversation.replaceFrom(1, [user('another')]), ['a question', 'another'], 2],
    [() => conversation.replaceFrom(1, [assistant('an answer')]), ['a question', 'an answer'], 2],
    [() => conversation.compact(compaction, compacted, new Map()), ['a question', 'in short', 'next'], 3],
    [() => conversation.replaceFrom(0, [user('anew')]), ['a question', 'in short', 'anew'], 1], // what its client has no more stays
  ] as const
  for (const [index, [does, expected, len]] of doings.entries()) {
    const before = [texts(), conversation.len, conversation.chainAt(conversation.len)]
    refuses = true
    const refused = await does()
    refuses = false
    expect([index, isLeft(refused) && refused.left._tag]).toEqual([index, 'Io'])
    expect([index, texts(), conversation.len, conversation.chainAt(conversation.len)]).toEqual([index, ...before])
    expect([index, isLeft(await does()), texts(), conversation.len]).toEqual([index, false, expected, len])
  }
})

it('messages that are recorded again unchanged keep their page kinds, also those of notes', async () => {
  const session = await createSession(memoryStore(), { id: 's' })
  const conversation = new Conversation(session, undefined)
  const rules = user('Answer in French.')
  await conversation.replaceFrom(0, [user('a'), rules, assistant('oui'), user('a plan'), rules])
  await session.note({ type: 'page', position: 1, kind: 'constraint' })
  await session.note({ type: 'page', position: 3, kind: 'plan' })
  await conversation.replaceFrom(0, [user('b'), rules, assistant('oui'), user('another'), user('a plan'), rules])
  expect(session.at().pages.slice(5)).toEqual([
    ...['conversation', 'constraint', 'conversation', 'conversation', 'plan', 'conversation'],
  ])
  await conversation.compact({ upTo: 6, summary: undefined, places: [0, 1] }, [user('b'), rules], new Map())
  await conversation.replaceFrom(1, [rules, user('c')])
  expect(session.at().pages.slice(11)).toEqual(['constraint', 'conversation'])
})

it('an external summary belongs to a conversation only if it quotes its user', () => {
  const saidBy = (...messages: readonly Message[]): IndexedMessages => ({
    len: messages.length,
    at: (index) => messages[index],
    identityAt: (index) => identityOf(messages[index] as Message),
  })
  const summary = `The user wants ${'many things '.repeat(30)}`
  const conversation = saidBy(user('Plan a journey to Rome.'), assistant('Gladly.'))
  const given = [user(`Here is what was said: ${summary}`), user('Go on.')]
  const about = (asked: string) => saidBy(user(asked), assistant(`<summary>${summary}</summary>`))
  const quoting = about('Summarize this: "Plan a journey to Rome." and its answer.')
  expect(compactionOf(conversation, given, 0, [quoting])?.summary).toBe(summary.trim())
  expect(compactionOf(conversation, given, 0, [about('Summarize something else that is long.')])).toBeUndefined()
})

it('a base is read from the recorder’s own notes, and from no newer form of them', async () => {
  const session = await createSession(memoryStore(), { id: 's', messages: [user('a')] })
  const base = { entries: [0], identities: [identityOf(user('a'))], from: 1 }
  const note = noteOfBase(base)
  await session.note({ ...note, namespace: 'other' })
  expect(baseOf(session)).toEqual(noBase)
  await session.note(note)
  for (const content of ['newer', { sent: 'newer' }, { ...(note.content as object), from: 'newer' }])
    await session.note({ ...note, content })
  expect(baseOf(session)).toEqual(base)
})

it('the record had the messages of a compaction when all were there, also those that it retracts', async () => {
  const messages = [user('a question'), assistant('an answer'), user('sum up'), assistant('in short')]
  const conversation = new Conversation(await createSession(memoryStore(), { messages }), undefined)
  expect([0, 1, 4].map((len) => conversation.recordAt(len))).toEqual([0, 1, 4])
  const compaction: Compaction = { upTo: 2, summary: 'in short', places: ['made', 'new'] }
  const blocks = new Map([[0, 'a'.repeat(64) as never]])
  await conversation.compact(compaction, [user('So far: in short'), user('next')], blocks)
  expect([0, 1, 2].map((len) => conversation.recordAt(len))).toEqual([4, 4, 5])
  expect(conversation.session.conversation().toArray().map(textOf)).toEqual(['a question', 'an answer', 'next'])
})

it('a conversation remembers sixteen receipts that later ones can refer to', async () => {
  const conversation = new Conversation(await createSession(memoryStore()), undefined)
  for (let note = 0; note < 16; note++) conversation.wrote(`${note}`, note)
  conversation.wrote('3', 99)
  expect([conversation.receipts.size, conversation.receipts.get('3')]).toEqual([16, 3])
  conversation.wrote('other', 100)
  expect([...conversation.receipts]).toEqual([['other', 100]])
})

it('the five hundred conversations used last stay open, and others are opened again', async () => {
  const inner = memoryStore()
  let asked = ''
  const store: Store = { ...inner, info: (id) => ((asked = id), inner.info(id)) }
  const conversations = new Conversations(store, () => {})
  const isOpened = async (id: string): Promise<boolean> => {
    asked = ''
    await conversations.find({ api: 'a', model: 'm' } as never, [], id)
    return asked === id
  }
  for (let number = 0; number <= 500; number++) await isOpened(`s${number}`)
  expect([await isOpened('s1'), await isOpened('s500'), await isOpened('s0')]).toEqual([false, false, true])
  expect([await isOpened('s1'), await isOpened('s2')]).toEqual([false, true])
})
