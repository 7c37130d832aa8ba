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
import { readLedger, updateLedger, verifyLedger } from 'indelible/evidence'
import { bytesToHex } from '@noble/hashes/utils.js'
import { checkErased, checkErasure, checkProof, eraseMessages, proveEntry, proveErased } from 'indelible/session'
import { rowLeaf, type Because, type Store } from 'indelible/store'
import { describe, expect, it } from 'vitest'

export const because: Because = { reason: 'asked to', by: 'ann' }

export const asked: readonly Message[] = [
  user('My name is Grace Hopper, and I live in Arlington.'),
  assistant('I look it up.', toolCall('c1', 'find_person', '{"name":"Grace Hopper of Arlington"}')),
  toolResult('c1', 'Grace Hopper of Arlington: 12 Main Street'),
  assistant('Found it.'),
]

export const eraseCases = (name: string, open: () => Promise<Store>): void => {
  describe(`messages of a session in a ${name} store`, () => {
    it('stand erased where they stood, with role, page kind, call ids and time', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: asked, erasable: true })
      await session.retag(0, 'preference')
      const before = { head: session.head(), times: [0, 1, 2, 3].map(session.timeOf), kinds: session.view().pages }
      const proofs = await Promise.all([0, 1, 2, 3].map((at) => proveEntry(store, 's', at)))
      const receipt = await session.erase([0, 1, 2], because)
      expect(session.view().at(0)).toEqual(asked[0]) // what was read stays

      const again = await openSession(store, 's')
      expect([...again.view()]).toEqual([
        { role: 'user', content: [{ type: 'erased' }] },
        { role: 'assistant', content: [{ type: 'erased' }, { type: 'erased', id: 'c1' }] },
        { role: 'tool', content: [{ type: 'erased', callId: 'c1' }] },
        asked[3],
      ])
      expect(Object.isFrozen(again.view().at(0)?.content[0])).toBe(true)
      expect([again.head(), [0, 1, 2, 3].map(again.timeOf), [...again.view().pages]]).toEqual([
        before.head,
        before.times,
        [...before.kinds],
      ])
      expect(again.pages()[0]).toBe('preference')
      expect(again.openCalls()).toEqual([])
      expect(settle(again.view())._tag).toBe('Right')
      for (const proof of proofs) expect(checkProof(proof, before.head)._tag).toBe('Right')
      expect(orThrow(checkProof(await proveEntry(store, 's', 3), before.head)).message).toEqual(asked[3])
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

    it('can not be proven any more, only that they were there and were erased', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: asked, erasable: true })
      const { size } = (await updateLedger(store)).head
      const before = await proveEntry(store, 's', 1)
      expect(await proveErased(store, 's', 1)()).toMatchObject({ left: { _tag: 'BadProof' } })
      await session.erase([1], because)
      await session.append(user('and on'))
      await forkSession(store, 's', { id: 'fork', at: 3 })
      for (const id of ['s', 'fork']) {
        const refused = await proveEntry(store, id, 1)()
        expect(refused).toMatchObject({ left: { _tag: 'MessageErased', id, position: 1, ...because } })
        const proof = await proveErased(store, id, 1)
        const { head } = await store.info(id)
        const sent = JSON.parse(JSON.stringify(proof)) as typeof proof
        const proven = orThrow(checkErased(sent, head, (await readLedger(store)).head))
        expect(proven).toMatchObject({ session: id, row: 1, said: { id: 's', ...because } })
        expect(proven.ledger.size).toBe(size + 1)
        expect(proven.leaf).toBe(bytesToHex(rowLeaf({ kind: 'entry', ...before }, store.hash)))
        const bad = { left: { _tag: 'BadProof' } }
        expect(checkErased({ ...sent, row: 2 })).toMatchObject(bad)
        expect(checkErased({ ...sent, leaf: 'ab'.repeat(32) })).toMatchObject(bad)
        expect(
          checkErased({ ...sent, said: { ...sent.said, body: sent.said.body.replace('ann', 'bob') } }),
        ).toMatchObject(bad)
        expect(checkErased(sent, { size: 9, root: 'ab'.repeat(32) })).toMatchObject(bad)
        expect(checkErased(sent, undefined, { size: 9, root: 'ab'.repeat(32) })).toMatchObject(bad)
        expect(checkErased({})).toMatchObject(bad)
      }
      expect(checkProof(before)._tag).toBe('Right')
      await store.close()
    })

    it('go with the notes that repeat them, and others stay', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's' })
      await session.append(asked.slice(0, 1))
      await session.note({ type: 'tool_started', callId: 'c1', name: 'find_person', arguments: '{"name":"Grace"}' })
      await session.note({
        type: 'journal',
        step: 'one',
        results: [{ type: 'tool_result', callId: 'c1', content: [] }],
      })
      await session.note({ type: 'journal', step: 'one', said: [{ index: 0, text: 'I look' }] })
      await session.append(asked.slice(1))
      await session.note({ type: 'journal', step: 'one', closed: true })
      await session.note({ type: 'application', namespace: 'app', content: { title: 'Grace Hopper of Arlington' } })
      await session.note({ type: 'application', namespace: 'app', content: { title: 'a person' } })
      await session.summarize({ from: 0, to: 4, text: 'about a person' })
      await session.pin(3)
      await session.note({ type: 'journal', step: 'two', said: [{ index: 0, text: 'I go on' }] })
      await session.erase([1, 2], because)
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
      expect(again.openSteps().map(({ step }) => step)).toEqual(['two'])
      expect(await verifySession(store, 's')).toMatchObject({ erased: [1, 2] })
      await store.close()
    })

    it('are erased in every session that shares them, with the notes that those have of their own', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: asked })
      const fork = await forkSession(store, 's', { at: 4, id: 'fork' })
      await fork.summarize({ from: 0, to: 4, text: 'Grace lives in Arlington.' })
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

    it('are named by the receipt where equal content remains', async () => {
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

    it('are named by the receipt wherever their text remains, however it is written', async () => {
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

    it('leave a call that no message has, and the receipt names it; the name of a tool is no text of theirs', async () => {
      const store = await open()
      const given = '{"number":"DE89 3704 0044 0532"}'
      const session = await createSession(store, {
        id: 's',
        messages: [assistant(toolCall('c1', 'transfer_money_to', given)), toolResult('c1', 'done')],
        erasable: true,
      })
      await session.append([assistant(toolCall('c2', 'transfer_money_to', '{}')), toolResult('c2', 'refused')])
      await session.note({ type: 'tool_started', callId: 'c3', name: 'transfer_money_to', arguments: given })
      const receipt = await session.erase([0, 1], because)
      expect(receipt.remains).toEqual([{ what: 'text', rows: [{ id: 's', position: 4 }] }])
      expect([...(await openSession(store, 's')).notes()].filter(({ type }) => type === 'tool_started')).toMatchObject([
        { callId: 'c3' },
      ])
      await store.close()
    })

    it('are erased once: again gives the same receipt and no row of the ledger', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's', messages: asked })
      await session.summarize({ from: 0, to: 2, text: 'a summary' })
      const first = await session.erase([1], because)
      const second = await session.erase([1], { reason: 'another', by: 'bob' })
      expect({ ...second, remains: [] }).toEqual({ ...first, remains: [] })
      expect(first.rows.map(({ kind }) => kind)).toEqual(['entry', 'note'])
      await session.erase([1, 3], because)
      expect((await verifySession(store, 's')).erased).toEqual([1, 3])
      expect(await session.erase([9])()).toMatchObject({ left: { _tag: 'BeyondEnd' } })
      await store.close()
    })

    it('compare equal to a retry of the append that stored them', async () => {
      const store = await open()
      const session = await createSession(store, { id: 's' })
      const first = await session.append(asked[0] as never, { operation: 'op', expectedLen: 0 })
      await session.erase([0])
      const again = await openSession(store, 's')
      expect(await again.append(asked[0] as never, { operation: 'op', expectedLen: 0 })).toEqual(first)
      expect(again.len).toBe(1)
      await store.close()
    })

    it('can be erased by two at once', async () => {
      const store = await open()
      await createSession(store, { id: 's', messages: asked })
      await createSession(store, { id: 't', messages: asked })
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
      const session = await createSession(store, { id: 's', messages: asked })
      const growing = Promise.all(Array.from({ length: 20 }, async (_, index) => session.append(user(`and ${index}`))))
      await eraseMessages(store, 's', [0])
      await growing
      expect(await verifySession(store, 's')).toMatchObject({ len: 24, erased: [0] })
      await store.close()
    })

    it('can not be appended as erased ones', async () => {
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
