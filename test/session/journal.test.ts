/** The steps of runs, read from a log's notes: which are open, and which have ended. */
import { expect, it } from 'vitest'
import { assistant, createSession, memoryStore, openSession, toolCall, user, type Message } from 'indelible'
import type { JournalNote, Note } from '../../src/notes/internal.ts'
import { stepsIn } from '../../src/session/record/journal.ts'
import { ok } from '../task-results.ts'
import { pending } from '../../src/session/index.ts'

const journal = (step: string, more: Partial<JournalNote> = {}): JournalNote => ({ type: 'journal', step, ...more })
const said = (text: string): Partial<JournalNote> => ({ said: [{ index: 0, text }] })
const named = (step: string, text: string): Message => ({ ...assistant(text), meta: { indelible: { step } } })

it('the steps of notes are open, or ended if they were closed and no message names them', () => {
  const messages = [user('go'), assistant('Looking at it.'), named('recorded', 'Found.'), named('late', 'So.')]
  const notes: readonly (readonly [Note, number])[] = [
    [journal('answered', said('Looking')), 1],
    [journal('answered', { closed: true }), 2],
    [journal('recorded', said('Found.')), 2],
    [journal('recorded', { closed: true }), 3],
    [journal('late', said('So.')), 3],
    [journal('discarded', said('Nothing of it')), 3],
    [journal('discarded', { closed: true }), 3],
    [journal('open', said('And')), 4],
  ]
  const { open, ended } = stepsIn(
    notes.map(([note, len]) => ({ note, len })),
    messages,
  )
  expect([...open]).toEqual(['open'])
  expect(ended.map(({ step, len, answers }) => [step.step, step.said, len, answers])).toEqual([
    ['answered', ['Looking'], 1, [1]],
    ['discarded', ['Nothing of it'], 3, []],
  ])
})

it('retracting a turn ends the steps that it left open', () => {
  const notes = [journal('a', said('One')), { type: 'retraction', from: 0, to: 1 } as const, journal('b', said('Two'))]
  const { open, ended } = stepsIn(
    notes.map((note) => ({ note, len: 1 })),
    [user('go')],
  )
  expect([[...open], ended.map(({ step }) => step.step)]).toEqual([['b'], ['a']])
})

it('an open step has all that its notes have: text, whole parts, the answer, calls, results and the last lease', async () => {
  const store = memoryStore()
  const session = await ok(createSession(store, { id: 's', messages: [user('go')] }))
  const result = (callId: string) => ({ type: 'tool_result', callId, content: [] })
  const call = toolCall('a', 'look', '{}')
  for (const more of [
    {
      lease: 1,
      said: [
        { index: 1, text: 'wo' },
        { index: 0, text: 'One' },
      ],
    },
    { said: [{ index: 1, text: 'rld' }] },
    {
      said: [
        { index: 1, part: { type: 'text', text: 'd!' }, after: 4 },
        { index: 2, part: call },
      ],
    },
    { waiting: ['a', 'b'] },
    { started: ['a'], together: true },
    { lease: 2, results: [result('a')] },
  ] as readonly Partial<JournalNote>[])
    await ok(session.note(journal('x', more) as never))
  const [step, ...others] = pending(await ok(openSession(store, 's'))).steps
  expect(others).toEqual([])
  expect(step).toEqual({
    step: 'x',
    lease: 2,
    answer: undefined,
    said: ['One', { type: 'text', text: 'world!' }, call],
    together: true,
    started: new Set(['a']),
    results: new Map([['a', result('a')]]),
    waiting: new Set(['b']),
    external: new Set(),
    waited: true,
  })
  await ok(
    session.note(
      journal('x', {
        said: [{ index: 0, part: { type: 'text', text: 'One' } }],
        answer: { role: 'assistant' },
      }) as never,
    ),
  )
  await ok(session.note(journal('y', said('Two')) as never))
  await ok(session.note(journal('y', { closed: true }) as never))
  const [answered, ...more] = pending(session).steps
  expect([answered?.answer?.content.length, more]).toEqual([3, []])
  await ok(session.append(named('x', 'Done.')))
  expect(pending(session).steps).toEqual([])
})
