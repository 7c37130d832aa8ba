/** What erasing does to the messages of a session, in any store. */
import {
  assistant,
  createSession,
  forkSession,
  openSession,
  orThrow,
  readSession,
  settle,
  toolCall,
  toolResult,
  user,
  verifySession,
  type Message,
} from 'indelible'
import { readLedger, updateLedger, verifyLedger } from '@indelible/evidence'
import { bytesToHex } from '@noble/hashes/utils.js'
import {
  checkErased,
  checkErasure,
  checkProof,
  eraseMessages,
  proveEntry,
  proveErased,
  pending,
} from 'indelible/session'
import type { Store } from 'indelible/store'
import { rowLeaf } from '../../src/store/internal.ts'
import type { InputNote, JournalNote } from '../../src/notes/internal.ts'
import { describe, expect, it } from 'vitest'
import { timesIn } from './times.ts'
import type { ActionReason } from '../../src/store/port/ledger-row.ts'

export const because: ActionReason = { reason: 'asked to', by: 'ann' }

export const messages: readonly Message[] = [
  user('My name is Grace Hopper, and I live in Arlington.'),
  assistant('I look it up.', toolCall('c1', 'find_person', '{"name":"Grace Hopper of Arlington"}')),
  toolResult('c1', 'Grace Hopper of Arlington: 12 Main Street'),
  assistant('Found it.'),
]

export const eraseCases = (name: string, open: () => Promise<Store>): void => {
  describe(`erased messages of a session in a ${name} store`, () => {
    it('keep their place, role, page kind, call ids and time', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: messages, erasable: true })
      await session.note({ type: 'page', position: 0, kind: 'preference' })
      const before = { head: session.head(), times: timesIn(session), kinds: session.view().pages }
      const proofs = await Promise.all([0, 1, 2, 3].map((at) => proveEntry(store, 's', at)))
      const receipt = await eraseMessages(session, [0, 1, 2], because)
      expect(session.view().at(0)).toEqual(messages[0]) // what was read stays

      const again = await openSession(store, 's')
      expect([...again.view()]).toEqual([
        { role: 'user', content: [{ type: 'erased' }] },
        { role: 'assistant', content: [{ type: 'erased' }, { type: 'erased', id: 'c1' }] },
        { role: 'tool', content: [{ type: 'erased', callId: 'c1' }] },
        messages[3],
      ])
      expect(Object.isFrozen(again.view().at(0)?.content[0])).toBe(true)
      expect([again.head(), timesIn(again), [...again.view().pages]]).toEqual([
        before.head,
        before.times,
        [...before.kinds],
      ])
      expect(again.at().pages[0]).toBe('preference')
      expect(pending(again).calls).toEqual([])
      expect(settle(again.view())._tag).toBe('Right')
      for (const proof of proofs) expect(checkProof(proof, before.head)._tag).toBe('Right')
      expect(orThrow(checkProof(await proveEntry(store, 's', 3), before.head)).message).toEqual(messages[3])
      await again.append(user('Thanks.'))
      expect(await verifySession(store, 's', { head: before.head })).toMatchObject({ len: 5, erased: [0, 1, 2] })

      expect(receipt).toMatchObject({ session: 's', messages: [0, 1, 2], sharing: [], remains: [] })
      expect(receipt.residue).toMatchObject(name === 'PostgreSQL' ? [{ where: 'dead rows' }] : [])
      const { size, root } = receipt.ledger
      const proven = orThrow(checkErasure(JSON.parse(JSON.stringify(receipt)), { size, root }))
      expect(proven.rows.map(({ row }) => row)).toEqual([0, 1, 2])
      expect(proven.said).toMatchObject([{ id: 's', ...because }])
      await store.close()
    })

    it('can only be proven to have existed and been erased', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: messages, erasable: true })
      const { size } = (await updateLedger(store)).head
      const before = await proveEntry(store, 's', 1)
      expect(await proveErased(store, 's', 1)()).toMatchObject({ left: { _tag: 'BadProof' } })
      await eraseMessages(session, [1], because)
      await session.append(user('and on'))
      await forkSession(store, 's', { id: 'fork', at: 3 })
      for (const id of ['s', 'fork']) {
        const refused = await proveEntry(store, id, 1)()
        expect(refused).toMatchObject({ left: { _tag: 'MessageErased', id, position: 1, ...because } })
        const proof = await proveErased(store, id, 1)
        const { head } = await store.info(id)
        const sent = JSON.parse(JSON.stringify(proof)) as typeof proof
        const ledger = (await readLedger(store)).head
        const proven = orThrow(checkErased(sent, { head, ledger }))
        expect(proven).toMatchObject({ session: id, row: 1, said: { id: 's', ...because } })
        expect(proven.ledger.size).toBe(size + 1)
        expect(proven.leaf).toBe(bytesToHex(rowLeaf({ kind: 'entry', ...before }, store.hash)))
        const bad = { left: { _tag: 'BadProof' } }
        expect(checkErased({ ...sent, row: 2 })).toMatchObject(bad)
        expect(checkErased({ ...sent, leaf: 'ab'.repeat(32) })).toMatchObject(bad)
        expect(
          checkErased({ ...sent, said: { ...sent.said, body: sent.said.body.replace('ann', 'bob') } }),
        ).toMatchObject(bad)
        expect(checkErased(sent, { head: { size: 9, root: 'ab'.repeat(32) }, ledger })).toMatchObject(bad)
        expect(checkErased(sent, { head, ledger: { size: 9, root: 'ab'.repeat(32) } })).toMatchObject(bad)
        expect(checkErased({})).toMatchObject(bad)
      }
      expect(checkProof(before)._tag).toBe('Right')
      await store.close()
    })

    it('take along notes that repeat them, and no others', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's' })
      await session.append(messages.slice(0, 1))
      await session.note({ type: 'tool_started', callId: 'c1', name: 'find_person', arguments: '{"name":"Grace"}' })
      await session.note({
        type: 'journal',
        step: 'one',
        results: [{ type: 'tool_result', callId: 'c1', content: [] }],
      })
      await session.note({ type: 'journal', step: 'one', said: [{ index: 0, text: 'I look' }] })
      await session.append(messages.slice(1))
      await session.note({ type: 'journal', step: 'one', closed: true })
      await session.note({ type: 'application', namespace: 'app', content: { title: 'Grace Hopper of Arlington' } })
      await session.note({ type: 'application', namespace: 'app', content: { title: 'a person' } })
      await session.note({ type: 'summary', from: 0, to: 4, text: 'about a person' })
      await session.note({ type: 'pin', position: 3 })
      await session.note({ type: 'journal', step: 'two', said: [{ index: 0, text: 'I go on' }] })
      await eraseMessages(session, [1, 2], because)
      const again = await openSession(store, 's')
      expect([...again.notes()].map((note) => (note.type === 'erased' ? `no ${note.was}` : note.type))).toEqual([
        'no tool_started',
        'no journal',
        'no journal',
        'no journal',
        'application',
        'application',
        'no summary',
        'pin',
        'journal',
      ])
      expect(pending(again).steps.map(({ step }) => step)).toEqual(['two'])
      expect(await verifySession(store, 's')).toMatchObject({ erased: [1, 2] })
      await store.close()
    })

    it("are erased in every session that shares them, with those sessions' own notes", async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: messages })
      const fork = await forkSession(store, 's', { at: 4, id: 'fork' })
      await fork.note({ type: 'summary', from: 0, to: 4, text: 'Grace lives in Arlington.' })
      await forkSession(store, 's', { at: 1, id: 'early' })
      await session.seal()
      const receipt = await eraseMessages(store, 'early', [0], because)
      expect([...receipt.sharing].toSorted()).toEqual(['fork', 's'])
      expect(receipt.rows.map(({ session, kind }) => `${session} ${kind}`).toSorted()).toEqual([
        'early entry',
        'fork note',
      ])
      for (const id of ['s', 'fork', 'early']) {
        expect((await readSession(store, id)).view().at(0)).toEqual({ role: 'user', content: [{ type: 'erased' }] })
        expect((await verifySession(store, id)).erased).toEqual([0])
      }
      await store.remove('s')
      await store.remove('early')
      expect((await verifySession(store, 'fork')).erased).toEqual([0])
      await store.close()
    })

    it('are listed in the receipt where equal content remains', async () => {
      const store = await open()
      const long = 'word '.repeat(2000)
      await createSession(store, {
        id: 's',
        messages: [user(long), user('Call me at 555 0100 tonight')],
        metadata: { title: 'Call me at 555 0100 tonight' },
      })
      await createSession(store, {
        id: 'other',
        messages: [user(long), assistant('You said: Call me at 555 0100 tonight')],
      })
      const receipt = await eraseMessages(store, 's', [0, 1], because)
      expect(receipt.remains).toMatchObject([
        { what: 'block', rows: [{ id: 'other', position: 0, message: 0 }], kept: false },
        { what: 'text', rows: [{ id: 'other', position: 1, message: 1 }] },
        { what: 'metadata', session: 's' },
        { what: 'leaf', rows: [0, 1] },
      ])
      await store.close()
    })

    it.each(['Call me at 555…', 'Call me at 555 0100 ...', 'Call me at 555 0100'])(
      'are listed in the receipt if a title begins with them: %s',
      async (title) => {
        const store = await open()
        const metadata = { title, summary: 'Call', program: 'a program that calls' }
        await createSession(store, {
          id: 's',
          messages: [user('Call me\nat 555 0100  tonight')],
          metadata,
          erasable: true,
        })
        await createSession(store, { id: 'other', metadata: { title: 'Call me tonight' } })
        expect((await eraseMessages(store, 's', [0], because)).remains).toEqual([{ what: 'metadata', session: 's' }])
        await store.close()
      },
    )

    it('are listed in the receipt wherever their text remains in any spelling', async () => {
      const store = await open()
      const secret = 'She wrote: "Café de Flore,\n12 Main Street"'
      const ascii = JSON.stringify({ note: secret }).replace('é', '\\u00e9')
      await createSession(store, { id: 's', messages: [user(secret), user('hello')], erasable: true })
      await forkSession(store, 's', { id: 'fork', at: 2, metadata: { about: { [`on ${secret}`]: true } } })
      await createSession(store, { id: 'json', metadata: { state: JSON.stringify({ said: [secret] }) } })
      await createSession(store, {
        id: 'other',
        messages: [
          assistant(toolCall('c1', 'note', JSON.stringify({ note: secret }))),
          toolResult('c1', JSON.stringify({ answer: JSON.stringify({ secret }) })),
          assistant(toolCall('c2', 'note', ascii)),
          toolResult('c2', `${'word '.repeat(2000)}${secret}`),
          user('nothing of it'),
        ],
      })
      await store.putBlocks([new TextEncoder().encode(`kept: ${secret}`)])
      const receipt = await eraseMessages(store, 's', [0], because)
      const [block, text, ...metadata] = receipt.remains
      expect(block).toMatchObject({ what: 'block', rows: [], kept: true })
      expect(text).toEqual({
        what: 'text',
        rows: [0, 1, 2, 3].map((position) => ({ id: 'other', position, message: position })),
      })
      expect(metadata).toEqual(['json', 'fork'].map((session) => ({ what: 'metadata', session })))
      // The other way round: a text inside the arguments of an erased call.
      const again = await eraseMessages(store, 'other', [0, 1], because)
      expect(again.remains.map(({ what }) => what)).toEqual(['block', 'text', 'metadata', 'metadata', 'leaf'])
      await store.close()
    })

    it('are listed in the receipt wherever a message has a text, and where a name has it', async () => {
      const text = 'grace-hopper-1906.pdf'
      const source = { type: 'url', url: 'https://a.example/x' } as const
      const meta = { app: { id: text } }
      const places: readonly Message[] = [
        user({ type: 'file', name: text, source }),
        user({ type: 'text', text: 'x', meta }),
        user({ type: 'text', text: 'x', meta: { app: { [text]: 1 } } }),
        ...[{ id: text }, { type: text }, { type: 'text', id: text }, { [text]: 1 }].map((input, at) =>
          assistant(toolCall(`c${at}`, 'f', JSON.stringify(input))),
        ),
      ]
      const store = await open()
      await createSession(store, { id: 'other', messages: places })
      const rows = places.map((_, position) => ({ id: 'other', position, message: position }))
      const session = await createSession(store, { id: 's', messages: [user(text)], erasable: true })
      const lease = orThrow(await store.lease('s', { holder: `the reader of ${text}`, ttl: 60_000 })())
      await store.release('s', lease.number)
      const released = await eraseMessages(session, [0], because)
      expect(released.remains).toEqual([{ what: 'text', rows }])
      await store.lease('s', { holder: `the reader of ${text}`, ttl: 60_000 })
      await session.append(user(text))
      expect((await eraseMessages(session, [1], because)).remains).toEqual([
        { what: 'text', rows },
        { what: 'lease', session: 's' },
      ])
      await store.close()
    })

    it('leave a call that no message has, listed in the receipt; a tool name does not count as their text', async () => {
      const store = await open()
      const given = '{"number":"DE89 3704 0044 0532"}'
      const session = await createSession(store, {
        id: 's',
        messages: [assistant(toolCall('c1', 'transfer_money_to', given)), toolResult('c1', 'done')],
        erasable: true,
      })
      await session.append([assistant(toolCall('c2', 'transfer_money_to', '{}')), toolResult('c2', 'refused')])
      await session.note({ type: 'tool_started', callId: 'c3', name: 'transfer_money_to', arguments: given })
      const receipt = await eraseMessages(session, [0, 1], because)
      expect(receipt.remains).toEqual([{ what: 'text', rows: [{ id: 's', position: 4 }] }])
      expect([...(await openSession(store, 's')).notes()].filter(({ type }) => type === 'tool_started')).toMatchObject([
        { callId: 'c3' },
      ])
      await store.close()
    })

    it('take along discarded answers after them, also in a fork', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', erasable: true })
      const journalText = (step: string, text: string): JournalNote => ({
        type: 'journal',
        step,
        said: [{ index: 0, text }],
      })
      const journalClose = (step: string): JournalNote => ({ type: 'journal', step, closed: true })
      await session.append(user('Where does she live?'))
      await session.note(journalText('lost', 'In Arlington, I'))
      await session.note(journalText('lost', ' suppose: 12 Main Street'))
      await session.note({ type: 'tool_started', callId: 'c9', name: 'find', arguments: '{"of":"Grace"}' })
      await session.note({ type: 'journal', step: 'lost', started: ['c9'] })
      await session.note(journalClose('lost'))
      await session.note(journalText('recorded', 'She lives in Arlington.'))
      await session.append({ messages: [assistant('She lives in Arlington.')], notes: [journalClose('recorded')] })
      await session.append(user('Anything else?'))
      await session.note(journalText('later', 'Her number is 5'))
      await session.note(journalClose('later'))
      await session.note({
        type: 'application',
        namespace: 'app',
        content: 'it began: In Arlington, I suppose: 12 Main Street',
      })
      await session.note(journalText('open', 'Her name is Grace'))
      const fork = await forkSession(store, 's', { id: 'fork', at: 1 })
      await fork.note(journalText('other', 'In Virginia, perhaps'))
      await fork.note(journalClose('other'))
      await fork.append(user('No.'))
      await fork.note(journalText('third', 'Then I do not know'))
      await fork.note(journalClose('third'))
      const receipt = await eraseMessages(session, [0], because)
      expect(receipt.remains).toEqual([])
      expect(receipt).not.toHaveProperty('inputs')
      expect(checkErasure(receipt)._tag).toBe('Right')
      expect([receipt, orThrow(checkErasure(receipt))].every(Object.isFrozen)).toBe(true)
      const kinds = async (id: string): Promise<unknown> =>
        [...(await readSession(store, id)).notes()].flatMap((note) =>
          note.type === 'erased' ? [`no ${note.was}`] : note.type === 'journal' ? [note.step] : [],
        )
      expect(await kinds('s')).toEqual([
        ...['no journal', 'no journal', 'no tool_started', 'no journal', 'no journal'],
        ...['recorded', 'recorded', 'later', 'later', 'no application', 'open'],
      ])
      expect(await kinds('fork')).toEqual([
        ...['no journal', 'no journal', 'no tool_started', 'no journal', 'no journal', 'recorded'], // shared
        ...['no journal', 'no journal', 'third', 'third'],
      ])
      expect(await verifySession(store, 's')).toMatchObject({ erased: [0] })
      await store.close()
    })

    it('take along their streamed pieces, however small', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: [user('Who is it?')] })
      const words = ['Grace ', 'Hop', 'per, ', 'of ', 'course']
      for (const journalText of words)
        await session.note({ type: 'journal', step: 'a', said: [{ index: 0, text: journalText }] })
      await session.append({
        messages: [assistant(words.join(''))],
        notes: [{ type: 'journal', step: 'a', closed: true }],
      })
      for (const journalText of ['She ', 'is ', 'old'])
        await session.note({ type: 'journal', step: 'b', said: [{ index: 0, text: journalText }] })
      await session.append({
        messages: [assistant('She is old')],
        notes: [{ type: 'journal', step: 'b', closed: true }],
      })
      await eraseMessages(session, [1], because)
      const left = [...(await readSession(store, 's')).notes()].map((note) =>
        note.type === 'journal' ? note.step : note.type,
      )
      expect(left).toEqual([...Array<string>(6).fill('erased'), ...Array<string>(4).fill('b')])
      await eraseMessages(session, [0], because) // no step of an answer goes with the question
      expect([...(await readSession(store, 's')).notes()].filter(({ type }) => type === 'journal')).toHaveLength(4)
      await store.close()
    })

    it('can be erased by their input, also one never taken', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', erasable: true, messages: [user('Hello.')] })
      const input = (id: string, state: InputNote['state'], more: Partial<InputNote> = {}): InputNote => ({
        ...{ type: 'input' as const, id, state },
        ...more,
      })
      const asks = (text: string): Partial<InputNote> => ({
        message: { role: 'user', content: [{ type: 'text', text }] },
      })
      await session.note(input('one', 'queued', asks('I am Grace Hopper of Arlington')))
      await session.note(input('two', 'queued', asks('and I of Boston, my friend')))
      await session.note(input('two', 'cancelled'))
      await session.append({
        messages: [user('I am Grace Hopper of Arlington')],
        notes: [input('one', 'taken', { at: 1 })],
      })
      await session.note({ type: 'application', namespace: 'app', content: 'waits: and I of Boston, my friend' })
      expect(await eraseMessages(session, { inputs: ['three'] })()).toMatchObject({
        left: { _tag: 'NoSuchInput', input: 'three' },
      })
      const one = await eraseMessages(session, { inputs: ['two'] }, because)
      expect(one).toMatchObject({ messages: [], inputs: ['two'], remains: [] })
      expect(orThrow(checkErasure(one)).rows.map(({ row, kind }) => [row, kind])).toEqual([
        [2, 'note'],
        [6, 'note'],
      ])
      expect(await eraseMessages(session, { inputs: ['two'] }, because)).toMatchObject({
        messages: [],
        inputs: ['two'],
      })
      const both = await eraseMessages(store, 's', { messages: [0], inputs: ['one'] }, because)
      expect(both).toMatchObject({ messages: [0, 1], inputs: ['one'], remains: [] })
      expect([...(await readSession(store, 's')).notes()].map(({ type }) => type)).toEqual([
        ...['erased', 'erased', 'input', 'input', 'erased'],
      ])
      await store.close()
    })

    it('take the input along that they were taken from, also if it has other words', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', erasable: true, messages: [user('Hello.')] })
      const asks = (id: string, text: string): InputNote => ({
        ...{ type: 'input', id, state: 'queued', message: { role: 'user', content: [{ type: 'text', text }] } },
      })
      await session.note(asks('one', 'I am Grace Hopper of Arlington'))
      await session.note(asks('two', 'What time is it?'))
      for (const [at, id] of ['one', 'two'].entries())
        await session.append({
          messages: [user(`The ${at + 1}. question`)],
          notes: [{ type: 'input', id, state: 'taken', at: at + 1 }],
        })
      await session.note({ type: 'input', id: 'one', state: 'failed', reason: 'the model is gone' })
      await eraseMessages(session, [1], because)
      const left = [...(await readSession(store, 's')).notes()]
      expect(left.map((note) => (note.type === 'input' ? `${note.id} ${note.state}` : note.type))).toEqual([
        ...['erased', 'two queued', 'one taken', 'two taken', 'erased'],
      ])
      await store.close()
    })

    it("are erased with the session's whole content if asked", async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: messages, erasable: true })
      await session.note({ type: 'pin', position: 0 })
      await session.note({ type: 'journal', step: 'open', said: [{ index: 0, text: 'I go on' }] })
      await session.note({ type: 'receipt', len: 4, contextDigest: 'ab'.repeat(32), model: 'm' })
      await session.note({ type: 'application', namespace: 'app', content: { a: 'b' } })
      await session.note({ type: 'input', id: 'i', state: 'queued', message: { role: 'user', content: [] } })
      const receipt = await eraseMessages(session, { all: true }, because)
      expect(receipt).toMatchObject({ messages: [0, 1, 2, 3], inputs: ['i'], remains: [] })
      expect([...(await readSession(store, 's')).notes()].map(({ type }) => type)).toEqual([
        ...['pin', 'erased', 'erased', 'erased', 'erased', 'input'], // the last one withdraws the queued input
      ])
      expect({ ...(await eraseMessages(session, { all: true })), inputs: ['i'] }).toEqual(receipt)
      expect((await verifySession(store, 's')).erased).toEqual([0, 1, 2, 3])
      for (const wrong of [{}, { all: false }, { inputs: 'i' }, { inputs: [3] }, { others: [] }])
        expect(() => eraseMessages(session, wrong as never)).toThrow(TypeError)
      await store.close()
    })

    it('erased as a whole name other rows with the texts of their notes', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: messages, erasable: true })
      const content = { about: 'Grace lives in Arlington', model: 'a model of two notes' }
      await session.note({ type: 'application', namespace: 'app', content })
      await session.note({ type: 'application', namespace: 'app', content: { model: content.model } })
      await session.note({ type: 'summary', from: 0, to: 1, text: 'They asked for a refund.' })
      const other = await createSession(store, { id: 'o', messages: [user('Grace lives in Arlington, I hear.')] })
      for (const text of [content.model, 'They asked for a refund.']) await other.append(user(text))
      const { remains } = await eraseMessages(session, { all: true }, because)
      const rows = [0, 2].map((position) => ({ id: 'o', position, message: position }))
      expect(remains).toEqual([{ what: 'text', rows }])
      await store.close()
    })

    it('erased in a since removed log are still in the receipt', async () => {
      const store = await open()
      await createSession(store, { id: 's', messages: messages })
      await forkSession(store, 's', { id: 'fork' })
      await eraseMessages(store, 's', [0], because)
      await store.remove('s')
      const receipt = await eraseMessages(store, 'fork', [0], because)
      expect(orThrow(checkErasure(receipt))).toMatchObject({ session: 's', rows: [{ row: 0 }], said: [{ by: 'ann' }] })
      // Another log of that id with the same rows is none of it.
      await createSession(store, { id: 's', messages: messages })
      expect((await eraseMessages(store, 's', [1], because)).rows.map(({ row }) => row)).toEqual([1])
      await store.close()
    })

    it('are erased once: a repeated call returns the same receipt without a new ledger row', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: messages })
      await session.note({ type: 'summary', from: 0, to: 2, text: 'a summary' })
      const first = await eraseMessages(session, [1], because)
      const second = await eraseMessages(session, [1], { reason: 'another', by: 'bob' })
      expect({ ...second, remains: [] }).toEqual({ ...first, remains: [] })
      expect(first.rows.map(({ kind }) => kind)).toEqual(['entry', 'note'])
      await eraseMessages(session, [1, 3], because)
      expect((await verifySession(store, 's')).erased).toEqual([1, 3])
      expect(await eraseMessages(session, [9])()).toMatchObject({ left: { _tag: 'BeyondEnd' } })
      await store.close()
    })

    it('match a retry of their append', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's' })
      const first = await session.append(messages[0] as never, { operation: 'op', expectedLen: 0 })
      await eraseMessages(session, [0])
      const again = await openSession(store, 's')
      expect(await again.append(messages[0] as never, { operation: 'op', expectedLen: 0 })).toEqual(first)
      expect(again.len).toBe(1)
      await store.close()
    })

    it('can be erased concurrently', async () => {
      const store = await open()
      await createSession(store, { id: 's', messages: messages })
      await createSession(store, { id: 't', messages: messages })
      await Promise.all([
        eraseMessages(store, 's', [0, 1]),
        eraseMessages(store, 's', [1, 2]),
        eraseMessages(store, 't', [0]),
        eraseMessages(store, 't', [0]),
      ])
      expect((await verifySession(store, 's')).erased).toEqual([0, 1, 2])
      expect((await verifySession(store, 't')).erased).toEqual([0])
      expect((await verifyLedger(store)).erased).toBe(4)
      await store.close()
    })

    it('can be erased while the session grows', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: messages })
      const growing = Promise.all(Array.from({ length: 20 }, async (_, index) => session.append(user(`and ${index}`))))
      await eraseMessages(store, 's', [0])
      await growing
      expect(await verifySession(store, 's')).toMatchObject({ len: 24, erased: [0] })
      await store.close()
    })

    it('cannot be appended in erased form', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's' })
      expect(await session.append({ role: 'user', content: [{ type: 'erased' }] })()).toMatchObject({
        left: { _tag: 'InvalidMessage' },
      })
      expect(await session.note({ type: 'erased', was: 'pin' })()).toMatchObject({ left: { _tag: 'InvalidNote' } })
      await store.close()
    })
  })
}
