/** The state of a context: with it the next process goes on as this one would have. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createSession,
  forkSession,
  memoryStore,
  openSession,
  system,
  user,
  type Message,
  type Session,
  type Store,
} from 'indelible'
import { deriveContext, type DerivedContext, type DeriveOptions } from 'indelible/context'
import { rangeDigest } from '../../src/notes/kit.ts'
import { rounds } from '../rounds.ts'
import { conversations } from './conversations.ts'
import { eraseMessages } from '../../src/session/index.ts'

const range = fc.tuple(fc.nat(60), fc.nat(8)).map(([from, count]) => ({ from, to: from + 1 + count }))

/** What a session goes through between its calls. */
const deeds = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 5 }).map((more) => ({ more })) },
    { weight: 2, arbitrary: range.map((sum) => ({ sum })) },
    { weight: 2, arbitrary: fc.nat(60).map((pin) => ({ pin })) },
    { weight: 1, arbitrary: fc.nat(60).map((unpin) => ({ unpin })) },
    { weight: 1, arbitrary: fc.nat(60).map((retag) => ({ retag })) },
    { weight: 2, arbitrary: fc.integer({ min: 80, max: 180 }).map((counted) => ({ counted })) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }).map((pop) => ({ pop })) },
    { weight: 1, arbitrary: fc.nat(60).map((rewind) => ({ rewind })) },
    { weight: 1, arbitrary: fc.nat(60).map((replace) => ({ replace })) },
    { weight: 1, arbitrary: fc.nat(60).map((erase) => ({ erase })) },
    { weight: 1, arbitrary: fc.nat(60).map((fork) => ({ fork })) },
  ),
  { minLength: 8, maxLength: 40 },
)
type Deed = Partial<
  Record<'more' | 'pin' | 'unpin' | 'retag' | 'counted' | 'pop' | 'rewind' | 'replace' | 'erase' | 'fork', number>
> & {
  readonly sum?: { readonly from: number; readonly to: number }
}

/** Messages of people who talk, with names and numbers. */
const talks = fc
  .array(
    fc.tuple(
      fc.boolean(),
      fc.array(
        fc.constantFrom(
          'I met Anna Berg',
          'at 9:30?',
          'We paid 250 euros.',
          'Fine, thanks.',
          'What about Lisbon?',
          'the violin is "lost"',
          'that sounds great',
        ),
        { minLength: 1, maxLength: 12 },
      ),
    ),
    { minLength: 20, maxLength: 90 },
  )
  .map((said) => said.map(([mine, words]): Message => (mine ? user : assistant)(words.join(' '))))

/** What a context says of itself, but for what depends on the one before it. */
const said = ({
  messages,
  sources,
  residency,
  dropped,
  provenance,
  tokens,
  factor,
  epoch,
  activeFrom,
}: DerivedContext): string =>
  JSON.stringify([messages, sources, residency, dropped, provenance, tokens, factor, epoch, activeFrom])

interface Work {
  readonly store: Store
  session: Session
  /** Of the messages that are to come, those that came. */
  next: number
}

/** Do one deed; false, if it changes what was said before in place. */
const done = async (
  work: Work,
  messages: readonly Message[],
  deed: Deed,
  receipt: { context: DerivedContext | undefined },
): Promise<boolean> => {
  const { session } = work
  const { len } = session
  const at = (position: number): number => (len === 0 ? 0 : position % len)
  const say = (count: number): readonly Message[] => messages.slice(work.next, (work.next += count))
  if (deed.more !== undefined) for (const message of say(deed.more)) await session.append(message)
  if (deed.sum !== undefined && deed.sum.to <= len) {
    const view = session.conversation()
    const of = view.slice(view.before(deed.sum.from), view.before(deed.sum.to))
    await session.note({
      type: 'summary',
      ...deed.sum,
      sourceDigest: rangeDigest(of),
      text: `It was about ${deed.sum.from}.`,
      model: 'me',
    })()
  }
  if (len > 0 && deed.pin !== undefined) await session.note({ type: 'pin', position: at(deed.pin) })()
  if (len > 0 && deed.unpin !== undefined) await session.note({ type: 'unpin', position: at(deed.unpin) })()
  if (len > 0 && deed.retag !== undefined)
    await session.note({ type: 'page', position: at(deed.retag), kind: deed.retag % 2 === 0 ? 'plan' : 'constraint' })()
  if (deed.counted !== undefined && receipt.context?.estimated !== undefined) {
    const { estimated, length, digest } = receipt.context
    await session.note({
      type: 'receipt',
      len: length,
      contextDigest: digest,
      model: 'acme-1',
      estimated,
      usage: { input: Math.round((estimated * deed.counted) / 100), output: 1 },
    })()
  }
  if (len > 0 && deed.pop !== undefined) await session.pop()()
  if (len > 0 && deed.rewind !== undefined) await session.rewind(at(deed.rewind))()
  if (len > 0 && deed.replace !== undefined) await session.rewind(at(deed.replace), { instead: say(2) })()
  if (deed.fork !== undefined)
    work.session = await forkSession(work.store, session.id, { at: session.len - (deed.fork % (len + 1)) })
  if (len > 0 && deed.erase !== undefined) {
    await eraseMessages(work.session, [at(deed.erase) % work.session.len], { reason: 'a test', by: 'a test' })()
    work.session = await openSession(work.store, work.session.id)
    return false
  }
  return true
}

const goesOn = async (
  messages: readonly Message[],
  deeds: readonly Deed[],
  restarts: readonly boolean[],
  options: DeriveOptions,
): Promise<void> => {
  const store = memoryStore()
  const work: Work = {
    store,
    session: await createSession(store, { messages: [system('You help. Never lie.')], erasable: true }),
    next: 0,
  }
  let previous = undefined as DerivedContext | undefined
  let state: string | undefined
  for (const [index, deed] of deeds.entries()) {
    if (!(await done(work, messages, deed, { context: previous }))) previous = state = undefined
    if (restarts[index % restarts.length] === true) {
      work.session = await openSession(store, work.session.id)
      previous = undefined
    }
    const given = { ...options, notes: work.session.notes() }
    const view = work.session.conversation()
    const anew = deriveContext(view, given)
    for (const one of [deriveContext(view, { ...given, previous, state }), deriveContext(view, { ...given, state })]) {
      expect(one._tag).toBe(anew._tag)
      if (isLeft(one) || isLeft(anew)) continue
      expect(said(one.right)).toBe(said(anew.right))
      previous = one.right
    }
    state = previous?.state ?? state
  }
}

describe('a saved context state', () => {
  // With the small ones, a record has several chapters.
  const budgets = fc.oneof(fc.integer({ min: 90, max: 300 }), fc.integer({ min: 300, max: 3000 }))
  const restarts = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 })
  it('gives the context that the previous process and the whole record would give', async () => {
    await fc.assert(
      fc.asyncProperty(
        conversations({ damaged: true, maxLength: 60 }),
        deeds,
        restarts,
        budgets,
        (messages, deeds, restarts, budget) => goesOn(messages, deeds, restarts, { budget, model: 'acme-1' }),
      ),
      { numRuns: rounds(8, 2000) },
    )
  })
  it('works for a conversation without tools', async () => {
    await fc.assert(
      fc.asyncProperty(talks, deeds, restarts, budgets, (messages, deeds, restarts, budget) =>
        goesOn(messages, deeds, restarts, { budget }),
      ),
      { numRuns: rounds(5, 1000) },
    )
  })
})
