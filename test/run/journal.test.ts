/** The journal: what a run writes into its session before the delta of a step, note by note. */
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, reasoning, toolCall, user, type Message, type Part } from 'indelible'
import type { ModelEvent, RunEvent, SessionHandlerOptions } from 'indelible/run'
import { sessionHandler } from 'indelible/run'
import { createSession, openSession } from 'indelible/session'
import { memoryStore, type Store } from 'indelible/store'
import { storeTask } from '../../src/store/internal.ts'
import { movedClock, settled } from './moved-clock.ts'
import type { LookAhead } from '../../src/run/handler.ts'

const step = async (options: SessionHandlerOptions = {}, store: Store = memoryStore()) => {
  const clock = movedClock()
  const session = await createSession(store, { id: 's', messages: [user('go')] })
  const handler = sessionHandler(session, { clock, lease: false, ...options })
  await handler.begin(() => undefined)
  let seq = 0
  const tell = async (event: object, ahead: Partial<LookAhead> = {}) => {
    const runEvent = { seq: seq++, step: 0, ...event } as unknown as RunEvent
    return handler(runEvent, { id: 'r:0', together: false, events: [], ...ahead })
  }
  await tell({ type: 'step_start', len: 1 })
  return {
    clock,
    session,
    handler,
    tell,
    say: async (text: string, index = 0) => {
      const answer = await tell({ type: 'model_event', event: { type: 'text_delta', block: 'text', index, text } })
      await settled()
      return answer
    },
    end: (part: Part, index = 0, ahead: Partial<LookAhead> = {}) =>
      tell({ type: 'model_event', event: endOf(part, index) }, ahead),
    /** The journal so far, each note without the fields that are the same in all. */
    journal: async () => {
      await settled()
      return [...session.notes()].flatMap((note) => {
        if (note.type !== 'journal') return []
        const { type: _, step: __, ...rest } = note
        return [rest]
      })
    },
  }
}

const endOf = (part: Part, index = 0): ModelEvent => ({ type: 'block_end', block: 'text', index, part })
const said = (value: string): Part => ({ type: 'text', text: value })
const finish = (message: Message): LookAhead['response'] => ({ message, reason: 'tool_calls', usage: { input: 1, output: 1 } }) // oxfmt-ignore
const result = (callId: string) => ({ type: 'tool_result' as const, callId, content: [{ type: 'text' as const, text: 'ok' }] }) // oxfmt-ignore
const call = toolCall('a', 'look', '{}')

describe('streaming text', () => {
  it('is written a second after the step began or text was written last, all blocks in one note', async () => {
    const { clock, say, journal } = await step()
    await clock.moveTo(300)
    await say('a')
    await clock.moveTo(500)
    await say('b')
    await clock.moveTo(999)
    expect([await journal(), clock.due()]).toEqual([[], [1000]])
    await clock.moveTo(1400)
    expect([await journal(), clock.due()]).toEqual([[{ said: [{ index: 0, text: 'ab' }] }], []])
    await say('c')
    await say('d', 1)
    await clock.moveTo(1999)
    expect(await journal()).toHaveLength(1)
    await clock.moveTo(2000)
    expect((await journal()).slice(1)).toEqual([
      {
        said: [
          { index: 0, text: 'c' },
          { index: 1, text: 'd' },
        ],
      },
    ])
    await clock.moveTo(7000)
    await say('e', 1)
    expect(clock.due()).toEqual([7000])
    await clock.moveTo(7000)
    expect((await journal()).slice(2)).toEqual([{ said: [{ index: 1, text: 'e' }] }])
  })
  it('is written after the bytes of the limit, counted as UTF-8 since the last time', async () => {
    const { say, journal, clock } = await step({ journalEvery: { ms: Infinity, bytes: 4 } })
    for (const text of ['aé', 'b', 'cd', 'e', 'f', '🙂']) await say(text)
    expect(await journal()).toEqual(['aéb', 'cdef', '🙂'].map((text) => ({ said: [{ index: 0, text }] })))
    expect(clock.due()).toEqual([])
  })
  it('never ends in half a character, and text that stays half one waits for the end of its block', async () => {
    const { say, journal, end } = await step({ journalEvery: { bytes: 1 } })
    for (const text of ['\ud83d', '\ude42', 'ab\ud83d', '\ude42c']) await say(text)
    const pieces = ['🙂', 'ab', '🙂c']
    expect(await journal()).toEqual(pieces.map((text) => ({ said: [{ index: 0, text }] })))
    await say('\ude42')
    await say('d')
    expect(await journal()).toHaveLength(3)
    await end(said('🙂ab🙂c\ufffdd'))
    expect((await journal()).slice(3)).toEqual([{ said: [{ index: 0, part: said('\ufffdd'), after: 7 }] }])
  })
  it('is not written where it may begin a secret, nor as its beginning once it was written', async () => {
    const { say, journal, end } = await step({ journalEvery: { bytes: 1 }, redact: { rules: [{ name: 'pin', pattern: /pin-\d+/ }] } }) // oxfmt-ignore
    for (const text of ['The ', 'pin-12', '34 is ', 'it. ', 'And more words.']) await say(text)
    await end(said('The pin-1234 is it. And more words.'))
    const notes = await journal()
    const whole = notes.flatMap(({ said = [] }) => said.map(({ text, part }) => text ?? part?.['text'])).join('')
    expect(JSON.stringify(notes)).not.toContain('1234')
    expect(whole).toMatch(/^The .+ is it\. And more words\.$/)
  })
  it('without a journal is all in the delta', async () => {
    const { clock, say, journal, tell, session } = await step()
    await say('Done.')
    const delta = { id: 'r:0', expectedLen: 1, append: [assistant('Done.')] }
    await tell({ type: 'model_event', event: endOf(said('Done.')) }, { response: finish(assistant('Done.')) as never, delta }) // oxfmt-ignore
    await clock.moveTo(5000)
    expect(await tell({ type: 'history_delta', ...delta })).toMatchObject({ _tag: 'Right' })
    await clock.moveTo(9000)
    expect([await journal(), session.view().toArray(), clock.due()]).toEqual([[], [user('go'), assistant('Done.')], []])
  })
})

describe('a complete block', () => {
  it('has only the text that no note has', async () => {
    const { clock, say, end, journal } = await step()
    await say('one ')
    await clock.moveTo(1000)
    await end(said('one two'))
    await end(said('one two'))
    await say('three')
    await end(said('other'), 1)
    await clock.moveTo(5000)
    expect(await journal()).toEqual([
      { said: [{ index: 0, text: 'one ' }] },
      { said: [{ index: 0, part: said('two'), after: 4 }] },
      { said: [{ index: 1, part: said('other') }] },
    ])
  })
  it('is whole where it does not begin with the text that a note has, or is no text', async () => {
    const { say, end, journal } = await step({ journalEvery: { bytes: 1 } })
    await say('one')
    await end(said('two'))
    await say('why', 1)
    await end(reasoning('why'), 1)
    expect(await journal()).toEqual([
      { said: [{ index: 0, text: 'one' }] },
      { said: [{ index: 0, part: said('two') }] },
      { said: [{ index: 1, text: 'why' }] },
      { said: [{ index: 1, part: reasoning('why') }] },
    ])
  })
  it('shares its note with the blocks that end at once', async () => {
    const { end, journal } = await step()
    await end(said('a'), 0, {
      events: [endOf(said('b'), 1), { type: 'text_delta', block: 'text', index: 2, text: 'c' }],
    })
    expect(await journal()).toEqual([{ said: [{ index: 0, part: said('a') }, { index: 1, part: said('b') }] }]) // oxfmt-ignore
  })
})

describe('a complete answer', () => {
  it('with calls has no content if notes have all of it, and says that results form one message', async () => {
    const answer = assistant('Looking.', call)
    for (const together of [false, true]) {
      const { end, journal } = await step()
      await end(said('Looking.'))
      await end(call, 1, { response: finish(answer) as never, together })
      expect(await journal()).toEqual([
        { said: [{ index: 0, part: said('Looking.') }] },
        { said: [{ index: 1, part: call }], answer: { role: 'assistant' }, ...(together && { together }) },
      ])
    }
  })
  it('has its content if a block has no end, or another one', async () => {
    const answer = assistant('Looking.', call)
    const open = await step()
    await open.say('Look', 0)
    await open.end(call, 1, { response: finish(answer) as never })
    expect(await open.journal()).toEqual([{ said: [{ index: 1, part: call }], answer }])
    const another = await step()
    await another.end(said('Searching.'))
    await another.end(call, 1, { response: finish(answer) as never })
    expect((await another.journal()).at(-1)).toEqual({ said: [{ index: 1, part: call }], answer })
  })
  it('without calls leaves nothing for the journal of the next step', async () => {
    const { end, tell, journal, session } = await step()
    const delta = { id: 'r:0', expectedLen: 1, append: [assistant('Wait.')] }
    await end(said('Wait.'), 0, { response: finish(assistant('Wait.')) as never })
    await tell({ type: 'history_delta', ...delta })
    await tell({ type: 'step_start', step: 1, len: 2 }, { id: 'r:1' })
    await tell({ type: 'model_event', event: endOf(call) }, { id: 'r:1', response: finish(assistant(call)) as never })
    expect(await journal()).toEqual([{ said: [{ index: 0, part: call }], answer: { role: 'assistant' } }])
    expect([...session.notes()]).toMatchObject([{ step: 'r:1' }])
  })
})

describe('calls and results', () => {
  it('that come together share a note, and the last results are in the delta that closes the journal', async () => {
    const { tell, journal, session } = await step()
    const calls = ['a', 'b', 'c'].map((id) => toolCall(id, 'look', '{}'))
    await Promise.all(calls.map((call) => tell({ type: 'tool_call_start', call })))
    await Promise.all(['a', 'b'].map((id) => tell({ type: 'tool_result', result: result(id), milliseconds: 1 })))
    const results = calls.map(({ id }): Message => ({ role: 'tool', content: [result(id)] }))
    const delta = { id: 'r:0', expectedLen: 1, append: [assistant(...calls), ...results] }
    await tell({ type: 'tool_result', result: result('c'), milliseconds: 1 }, { delta })
    expect(await journal()).toEqual([
      { started: ['a', 'b', 'c'] },
      { results: [result('a'), result('b')] },
      { closed: true },
    ])
    await tell({ type: 'history_delta', ...delta })
    expect([session.len, (await journal()).length]).toEqual([5, 3])
  })
  it('that wait for an approval are named', async () => {
    const { tell, journal } = await step()
    await tell({ type: 'approval', open: { calls: [{ ...call, approval: 't' }] } })
    expect(await journal()).toEqual([{ waiting: ['a'] }])
  })
  it('without a step are noted by themselves', async () => {
    const session = await createSession(memoryStore(), { id: 's' })
    const handler = sessionHandler(session, { lease: false })
    await handler({ type: 'tool_call_start', seq: 0, step: 0, call })
    await handler({ type: 'tool_result', seq: 1, step: 0, result: result('a'), milliseconds: 1 })
    expect([...session.notes()]).toEqual([{ type: 'tool_started', callId: 'a', name: 'look', arguments: '{}' }])
  })
})

describe('the end of a step', () => {
  it('that is discarded closes its journal at the end of the run; any other is left to the next run', async () => {
    for (const [behavior, then] of [
      ['discard', [{ closed: true }]],
      ['saveMarked', []],
    ] as const) {
      const { end, tell, journal, handler, session } = await step()
      await end(said('Looking.'))
      await tell({ type: 'interrupted', partialText: 'Looking.', behavior })
      await handler.end({} as never)
      expect(session.notes().length).toBe(1 + then.length) // at once: the lease is released next
      expect((await journal()).slice(1)).toEqual(then)
    }
  })
  it('without a delta is closed when the next step begins, if anything of it was written', async () => {
    const { end, tell, journal } = await step()
    await tell({ type: 'step_start', len: 1 }, { id: 'r:1' })
    expect(await journal()).toEqual([])
    await end(said('Looking.'))
    await tell({ type: 'step_start', len: 1 }, { id: 'r:2' })
    expect((await journal()).slice(1)).toEqual([{ closed: true }])
  })
  it('after the append of another writer keeps what no note has yet, and of a retraction nothing', async () => {
    const answer = assistant('Looking.', call, toolCall('b', 'look', '{}'))
    const results = (['a', 'b'] as const).map((id): Message => ({ role: 'tool', content: [result(id)] }))
    const delta = { id: 'r:0', expectedLen: 1, append: [answer, ...results] }
    for (const deed of ['append', 'pop'] as const) {
      const { tell, journal, session } = await step()
      await tell({ type: 'tool_result', result: result('a'), milliseconds: 1 })
      if (deed === 'append') await session.append(user('theirs'))
      else await session.pop()
      expect(await tell({ type: 'history_delta', ...delta })).toMatchObject({ left: { _tag: 'SessionConflict' } })
      const notes = await journal()
      const kept = deed === 'append' ? { answer, results: [result('b')] } : { closed: true }
      expect(notes).toEqual([{ results: [result('a')] }, kept])
    }
  })
  it('that says of a call that it was not run is left to the next run', async () => {
    const { tell, session } = await step()
    const delta = { id: 'r:0', expectedLen: 1, append: [assistant('a')] }
    expect(await tell({ type: 'history_delta', ...delta }, { unfinished: true })).toEqual(right(undefined))
    expect(session.len).toBe(1)
  })
  it('is stored once, if an earlier attempt had a journal that this one lacks', async () => {
    const store = memoryStore()
    const first = await step({}, store)
    const delta = { id: 'r:0', expectedLen: 1, append: [assistant('a')] }
    await first.end(said('a'))
    await first.tell({ type: 'history_delta', ...delta })
    const session = await openSession(store, 's')
    const handler = sessionHandler(session, { lease: false })
    for (const ahead of [undefined, { id: 'r:0', together: false, events: [] }]) {
      if (ahead) await handler({ type: 'step_start', seq: 0, step: 0, len: 1 }, ahead)
      expect(await handler({ type: 'history_delta', seq: 1, step: 0, ...delta }, ahead)).toMatchObject({
        _tag: 'Right',
      })
    }
    expect(session.len).toBe(2)
  })
})

it('a secret is removed from every note and counted once, with the message that has it', async () => {
  const found: string[] = []
  const secret = `sk-or-v1-${'0123456789abcdef'.repeat(4)}`
  const redact = { onRedacted: ({ rule }: { readonly rule: string }) => void found.push(rule) }
  const { end, tell, session, handler } = await step({ redact })
  await end(said(`The key is ${secret}`))
  expect(found).toEqual([])
  await tell({ type: 'history_delta', id: 'r:0', expectedLen: 1, append: [assistant(`The key is ${secret}`)] })
  expect(found).toHaveLength(1)
  await handler({ type: 'tool_call_start', seq: 9, step: 1, call: toolCall('a', 'look', { secret }) })
  expect(found).toHaveLength(2)
  expect(JSON.stringify([...session.at().rows()])).not.toContain(secret)
  expect([...session.notes()].map(({ type }) => type)).toEqual(['journal', 'journal', 'tool_started'])
})

it('a journal that the store refuses, with nobody waiting, fails the next event and every one after it', async () => {
  const memory = memoryStore()
  let isFull = false
  const append: Store['append'] = (...given) =>
    isFull
      ? storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: new Error('full') }), 'store.append')
      : memory.append(...given)
  const { clock, say, tell } = await step({}, { ...memory, append })
  await say('a')
  isFull = true
  await clock.moveTo(1000)
  await settled()
  isFull = false
  expect(await say('b')).toMatchObject({ left: { _tag: 'Io' } })
  expect(await tell({ type: 'step_start', len: 1 })).toMatchObject({ left: { _tag: 'Io' } })
})
