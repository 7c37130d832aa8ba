/** Texts that grow: they are parsed in pieces, and the value is that of the whole text. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { isLeft } from 'indelible/internal/json'
import { GrownTexts } from '../src/requests/grown-texts.ts'
import { rounds } from '../../../test/rounds.ts'

const listIn = (value: unknown): unknown => Object(value)['messages'] as unknown

/** Elements that are written in different ways, with signs of JSON in their texts. */
const element = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ role: fc.constant('user'), content: fc.string({ unit: 'grapheme', maxLength: 8 }) }),
  },
  { weight: 1, arbitrary: fc.json({ maxDepth: 2 }).map((json) => JSON.parse(json) as unknown) },
  fc.constantFrom<unknown>('],[', '{"messages":[', '\0 the elements before', '\\"', 12, 1, [], {}, { messages: ['a'] }),
)
const step = fc.record({
  cut: fc.nat({ max: 3 }),
  edits: fc.array(fc.tuple(fc.nat({ max: 40 }), element), { maxLength: 1 }),
  more: fc.array(element, { maxLength: 6 }),
  space: fc.constantFrom('', ' ', '\n  '),
  shape: fc.constantFrom('plain', 'plain', 'plain', 'after', 'twice', 'nested', 'no list'),
  broken: fc.constantFrom('', '', '', '', 'x'),
})

it('have the value of the whole text', () => {
  fc.assert(
    fc.property(
      fc.array(element, { minLength: 8, maxLength: 30 }),
      fc.array(step, { maxLength: 12 }),
      (first, steps) => {
        const texts = new GrownTexts()
        const list = [...first]
        for (const { cut, edits, more, space, shape, broken } of [
          { cut: 0, edits: [], more: [], space: '', shape: 'plain', broken: '' },
          ...steps,
        ]) {
          list.splice(list.length - cut, cut, ...more)
          for (const [at, value] of edits) if (at < list.length) list[at] = value
          const written = `[${space}${list.map((one) => JSON.stringify(one)).join(`${space},${space}`)}${space}]`
          const body = {
            plain: `{"model":"m","messages":${written}}`,
            after: `{"messages" : ${written},"tools":[1,{"messages":[]}],"model":"m"}`,
            twice: `{"messages":${written},"messages":[1,2]}`,
            nested: `{"metadata":{"messages":[1,2,3,4,5,6,7,8,9]},"messages":${written}}`,
            'no list': `{"messages":"${'x'.repeat(30)}"}`,
          }[shape as 'plain']
          const text = broken === '' ? body : `${body.slice(0, -2)}${broken}`
          const parsed = texts.parse(text, listIn)
          let whole: unknown
          try {
            whole = JSON.parse(text)
          } catch {
            expect(isLeft(parsed)).toBe(true)
            continue
          }
          expect(isLeft(parsed) ? parsed : parsed.right).toEqual(whole)
        }
      },
    ),
    { numRuns: rounds(300, 20_000) },
  )
})

it('are parsed only as far as they are new', () => {
  const texts = new GrownTexts()
  const messages = Array.from({ length: 20 }, (_, index) => ({ role: 'user', content: `text ${index}` }))
  const parse = (list: readonly unknown[], model = 'm'): readonly unknown[] => {
    const parsed = texts.parse(JSON.stringify({ model, messages: list }), listIn)
    return (isLeft(parsed) ? [] : listIn(parsed.right)) as readonly unknown[]
  }
  const first = parse(messages)
  const next = parse([...messages, 'more'])
  expect(next.map((one, index) => one === first[index])).toEqual([...messages.map(() => true), false])
  const edited = parse([...messages.slice(0, 12), { role: 'user', content: 'other' }, ...messages.slice(13)])
  expect(edited.findIndex((one, index) => one !== first[index])).toBe(12)
  const shorter = parse(messages.slice(0, 9))
  expect(shorter.every((one, index) => one === first[index])).toBe(true)
  expect(parse(messages, 'other')[0]).not.toBe(first[0]) // what comes before the list differs
  // Agents that take turns.
  const others = Array.from({ length: 10 }, (_, index) => `other ${index}`)
  const [mine, theirs] = [parse(messages), parse(others)]
  for (let turn = 1; turn <= 3; turn++)
    for (const [list, known] of [
      [messages, mine],
      [others, theirs],
    ] as const)
      expect(parse([...list, ...Array.from({ length: turn }, () => ({ turn }))])[0]).toBe(known[0])
})

it('are kept for eight agents', () => {
  const texts = new GrownTexts()
  const of = (agent: number): unknown => {
    const messages = Array.from({ length: 10 }, (_, index) => ({ agent, index }))
    const parsed = texts.parse(JSON.stringify({ messages }), listIn)
    return isLeft(parsed) ? undefined : (listIn(parsed.right) as readonly unknown[])[0]
  }
  const agents = Array.from({ length: 9 }, (_, agent) => of(agent))
  expect(of(8)).toBe(agents[8])
  expect(of(1)).toBe(agents[1])
  expect(of(0)).not.toBe(agents[0])
})

it('a second list of the name that begins with a text of our own is read as it is', () => {
  const texts = new GrownTexts()
  const first = JSON.stringify({ messages: Array.from({ length: 20 }, (_, index) => ({ index })) })
  texts.parse(first, listIn)
  const twice = `${first.slice(0, -1)},"messages":["\\u0000 the elements before","new"]}`
  expect(texts.parse(twice, listIn)).toMatchObject({ right: JSON.parse(twice) })
})
