/** Talk: a record without tools keeps whole messages in its markers, those that questions will most probably ask for. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, textOf, toolCall, toolResult, user, type Message, type View } from 'indelible'
import { deriveContext, replay, type DerivedContext } from 'indelible/context'
import { rounds } from '../rounds.ts'
import { bestFormsWithin, countNovelty, emptyTalkHistory, type MarkedMessage } from '../../src/context/policies/talk.ts'
import { recordOf } from './conversations.ts'

const small = ['How are you?', 'Fine, thanks.', 'That sounds great!', 'Yes, I think so, too.', 'What happened next?']
const names = ['Anna', 'Ben', 'Carla', 'Lisbon', 'Oslo', 'Kyoto', 'Lake Garda']
const things = ['violin', 'greenhouse', 'bicycle', 'pottery course', 'marathon', 'telescope', 'dissertation']

/** A message of a conversation: mostly small talk, sometimes a fact with a name and a number. */
const sayingOf = (index: number, seed: number): Message => {
  const pick = <T>(from: readonly T[], salt: number): T => from[(index * 7 + seed * 13 + salt) % from.length] as T
  const said =
    (index + seed) % 3 === 0
      ? `Last spring ${pick(names, 1)} and ${pick(names, 3)} bought a ${pick(things, 2)} for ${100 + index * 3} euros, and it took ${index % 40} days.`
      : `${pick(small, 4)} Well, remark ${index}.`
  return index % 2 === 0 ? user(said) : assistant(said)
}

const talkOf = (length: number, seed = 0): readonly Message[] =>
  Array.from({ length }, (_, index) => sayingOf(index, seed))

const derive = (view: View<Message>, budget: number, previous?: DerivedContext): DerivedContext => {
  const derived = deriveContext(view, { budget, previous })
  if (isLeft(derived)) throw new Error(derived.left._tag)
  return derived.right
}

/** The positions whose whole text a marker has. */
const wholeIn = (context: DerivedContext, view: View<Message>): ReadonlySet<number> => {
  const whole = new Set<number>()
  for (const [index, message] of [...context.messages].entries()) {
    const source = context.sources.at(index)
    if (source?.type !== 'representation' || source.briefs === undefined) continue
    const lines = new Set(textOf(message).split('\n'))
    for (const position of source.briefs) {
      const recorded = view.at(position) as Message
      if (lines.has(`${position} ${recorded.role}: ${textOf(recorded)}`)) whole.add(position)
    }
  }
  return whole
}

describe('a conversation without tools', () => {
  const view = recordOf(talkOf(300))
  it('keeps facts whole in markers and shortens small talk', () => {
    const context = derive(view, 4000)
    const whole = wholeIn(context, view)
    const isFact = (position: number): boolean => position % 3 === 0
    expect(whole.size).toBeGreaterThan(20)
    const facts = [...whole].filter(isFact).length // of 100, and 200 are small talk
    expect(facts / 100).toBeGreaterThan((3 * (whole.size - facts)) / 200)
    expect(context.tokens).toBeGreaterThan(0.45 * 4000)
  })
  it('obeys every rule at any budget', () => {
    for (const budget of [600, 1500, 4000]) {
      const { unfit, faults } = replay(view, { budget })
      expect([unfit, Object.values(faults).every((count) => count === 0)]).toEqual([0, true])
    }
  })
  it.each([2500, 2900, 3000])('never gives a message a fuller form than it had at the call before: %d', (budget) => {
    let previous: DerivedContext | undefined
    let before: ReadonlySet<number> = new Set()
    let seen = 0
    // A model is called behind what a user says. A context of what ends with an answer is none of a call's, and starts no epoch.
    for (let length = 1; length <= view.length; length += 2) {
      const context = derive(view.slice(0, length), budget, previous)
      const whole = wholeIn(context, view)
      for (let position = 0; position < seen; position++)
        if (whole.has(position)) expect(before.has(position) || previous?.residency.at(position) === 'full').toBe(true)
      ;[previous, before, seen] = [context, whole, length]
    }
    expect(previous?.epoch).toBeGreaterThan(2)
  })
  it('keeps a marker whose lines all stay, so that the cached prefix still matches', () => {
    const said = recordOf(
      Array.from({ length: 58 }, (_, index) => {
        const fact = `Last spring Anna ${index} bought a violin for ${100 + index * 3} euros.`
        const text = index % 3 === 0 ? fact : `Fine, thanks. Remark ${index}.`
        if (index % 2 === 0) return assistant(text)
        return user(index === 39 ? 'a long paste of Words '.repeat(30) : text)
      }),
    )
    let previous: DerivedContext | undefined
    const markers: string[][] = []
    for (let length = 2; length <= said.length; length += 2) {
      previous = derive(said.slice(0, length), 600, previous)
      ;(markers[previous.epoch] ??= []).push(textOf(previous.messages.at(0) as Message))
    }
    // The first compaction has little room beside the paste; the second hides the paste.
    expect(markers.map((each) => new Set(each).size)).toEqual([1, 1, 1])
    expect(markers[1]?.[0]).toContain('[Messages 0–')
    expect(markers[2]?.[0]).toBe(markers[1]?.[0])
    expect(previous?.residency.at(39)).toBe('structured')
  })
  it('switches to line compaction from its first tool call on', () => {
    const mixed = recordOf([
      ...talkOf(200),
      ...Array.from({ length: 40 }, (_, index) => [
        assistant(toolCall(`c${index}`, 'look', { at: index })),
        toolResult(`c${index}`, `Result ${index} is here.\n`.repeat(20)),
      ]).flat(),
    ])
    const context = derive(mixed, 4000)
    for (const position of wholeIn(context, mixed)) expect(position).toBeLessThan(200)
  })
  it('gives the same context regardless of earlier derivations', () => {
    const given = fc.record({
      length: fc.integer({ min: 60, max: 120 }),
      seed: fc.nat(50),
      budget: fc.integer({ min: 500, max: 3000 }),
      every: fc.integer({ min: 5, max: 30 }),
      paste: fc.option(fc.record({ at: fc.nat(), words: fc.integer({ min: 50, max: 600 }) })),
    })
    fc.assert(
      fc.property(given, ({ length, seed, budget, every, paste }) => {
        const messages = [...talkOf(length, seed)]
        if (paste !== null) messages.splice(paste.at % length, 0, user('a long paste of Words '.repeat(paste.words)))
        const view = recordOf(messages)
        let previous: DerivedContext | undefined
        for (let at = every; at <= view.length; at += every) {
          const seen = view.slice(0, at)
          const derived = deriveContext(seen, { budget, previous })
          const fresh = deriveContext(seen, { budget })
          expect(derived._tag).toBe(fresh._tag)
          if (isLeft(derived) || isLeft(fresh)) continue
          expect(derived.right.digest).toBe(fresh.right.digest)
          previous = derived.right
        }
      }),
      { numRuns: rounds(5, 100) },
    )
  })
})

it('property: chosen forms fit the room, and no omitted message would fit in the rest', () => {
  const one = fc.record({
    lineTokens: fc.integer({ min: 1, max: 16 }),
    more: fc.option(fc.integer({ min: 0, max: 16 }), { nil: undefined }),
    worth: fc.double({ min: 0.1, max: 9, noNaN: true }),
    isLine: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(one, { maxLength: 8 }), fc.nat(40), (given, room) => {
      const told = given.map(({ lineTokens, more, worth, isLine }, index): MarkedMessage => {
        const place = { from: index, to: index + 1, positions: [index] }
        const line = { ...place, text: 'line', tokens: lineTokens + 2 }
        const whole = more === undefined ? undefined : { ...place, text: 'whole', tokens: lineTokens + more, line }
        return { now: isLine ? line : undefined, line, lineTokens, whole, worth }
      })
      const forms = bestFormsWithin(told, room)
      const tokens = forms.map((form, index) => {
        const { line, lineTokens, whole } = told[index] as MarkedMessage
        return form === line ? lineTokens : form === undefined ? 0 : form === whole ? whole.tokens : Infinity
      })
      const left = room - tokens.reduce((sum, each) => sum + each, 0)
      expect(left).toBeGreaterThanOrEqual(0)
      for (const [index, { now, line, lineTokens, whole }] of told.entries()) {
        if (now === line) expect(forms[index]).not.toBe(whole ?? null) // it never gets a fuller form
        if (forms[index] !== undefined) continue
        const least = whole === undefined || now === line ? lineTokens : Math.max(lineTokens, whole.tokens)
        expect(least).toBeGreaterThan(left)
      }
    }),
    { numRuns: 1000 },
  )
})

it.each([
  ['We met Anna', 1],
  ['We met. Anna came', 0],
  ['We met - Anna came', 1],
  ['We met . Anna came', 0],
  ['Anna came', 0],
  ['- Anna came', 0],
])('a capital counts as a name unless it begins a sentence: %j', (said, names) => {
  expect(countNovelty(user(said), emptyTalkHistory()).names).toBe(names)
})
