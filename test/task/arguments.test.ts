/**
 * Wrong arguments of what returns a task, as programs without types give them: a mistake in the program throws at the call,
 * and is no rejection that comes later. A wrong id, message or note is data, and so a fault that names it.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listSessions, memoryStore, type Store } from 'indelible'
import { describe, expect, it } from 'vitest'
import { importTranscript } from '@indelible/transcripts'
import { namesOf } from '../../scripts/api.ts'
import { entries, packages } from '../../scripts/packages.ts'
import { functions, methods, session, store, wrong, type Kind } from './wrong-arguments.ts'

/** What an argument of this kind may be answered with, instead of a throw at the call. */
const faults: { readonly [kind in Kind]?: readonly string[] } = {
  id: ['InvalidId', 'NoLedger', 'NoSuchLog'],
  data: ['InvalidMessage', 'InvalidNote'],
}

describe.each([...functions, ...methods])('%s', (name, args, call) => {
  const cases = args.flatMap(([kind], index) => wrong[kind].map((bad) => [index, kind, bad] as const))
  it.each(cases)('refuses as argument %i, a %s, %j', async (index, kind, bad) => {
    const given = args.map(([, value], at) => (at === index ? bad : value))
    let task
    try {
      task = (call as (...all: unknown[]) => () => Promise<unknown>)(...given)
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
      const { message } = error as Error
      // In our own words: what the call takes, and what it found.
      expect(message).toMatch(/takes|expect|must be|needs|is not|did not|, found |is .+; /)
      expect(message).not.toMatch(/Cannot (?:read|destructure)|not iterable|is not a function|undefined \(/)
      return
    }
    const answer = await task()
    expect([name, faults[kind] ?? 'a throw at the call']).toEqual([name, faults[kind]])
    expect([answer, faults[kind]]).toMatchObject([{ _tag: 'Left' }, faults[kind]])
    expect(faults[kind]).toContain((answer as { readonly left: { readonly _tag: string } }).left._tag)
  })
})

it('options of the right type with a wrong value, and missing arguments, throw at the call, too', () => {
  for (const limit of [-1, 0, 1.5, NaN, '5', null])
    expect(() => listSessions(store, { limit: limit as never })).toThrow(/^listSessions: limit is /)
  expect(() => session.rebase(null as never)).toThrow('session.rebase')
  expect(() => (importTranscript as (store: Store | null) => unknown)(null)).toThrow('importTranscript takes a store')
  expect(() => (importTranscript as (store: Store) => unknown)(memoryStore())).toThrow('importTranscript expects')
})

it('the list has every public function that returns a task', () => {
  const values = new Set(entries.flatMap((entry) => namesOf(entry).values))
  const found = new Set<string>()
  for (const { folder } of packages)
    for (const file of globSync('src/**/*.ts', { cwd: folder }))
      for (const [, a, b, signature = ''] of readFileSync(join(folder, file), 'utf8').matchAll(
        /^export (?:const (\w+) = (?=\()|function (\w+)(?=[<(]))(.*?)(?:=>|\{\n|\n(?=export|\/\*\*))/gms,
      )) {
        const name = a ?? b ?? ''
        if (values.has(name) && /\):\s*Task</.test(signature)) found.add(name)
      }
  expect(found.size).toBeGreaterThan(50)
  expect([...found].toSorted()).toEqual(functions.map(([name]) => name).toSorted())
})
