/**
 * Deriving where a policy or a tokenizer is asynchronous: the same contexts as `deriveContext` gives, by asking ahead.
 *
 * `deriveContext` itself never waits. So it is run with what is known, noting what it asked for that is not; that is
 * awaited, and it is run again, until nothing is missing. What was answered is remembered.
 */
import { deriveOptions } from './derive-options.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, optionsOf } from '../../json/index.ts'
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import type { CallbackThrew, Task } from '../../task/index.ts'
import { deriveContext, type DerivedContext, type DeriveOptions } from './derive.ts'
import { usableTokens } from './budget.ts'
import { deriveTask, type ContextFault } from '../fault.ts'
import { paged } from '../policies/paged.ts'
import type { Choice, Policy, Selection } from '../policies/policy.ts'
import { textTokens, type Tokenizer } from '../counting/tokens.ts'

/** A policy that may wait, for example for a model. The same selection must give the same choices. */
export interface AsyncPolicy extends Omit<Policy, 'select'> {
  /**
   * Choose a level for each candidate; it may wait.
   *
   * @param selection the candidates and the budget
   * @returns a choice for each candidate, in order
   */
  readonly select: (selection: Selection) => readonly Choice[] | Promise<readonly Choice[]>
}

/**
 * Counts the tokens of a text, perhaps by asking a provider. The same text must give the same number.
 *
 * @param text the text
 * @returns the tokens
 */
export type AsyncTokenizer = (text: string) => number | Promise<number>

/** How to derive a context with an asynchronous tokenizer or policy. */
export interface AsyncDeriveOptions extends Omit<DeriveOptions, 'policy' | 'tokenizer'> {
  /** The policy. Default: `paged`. Give the same value each time, because its choices are remembered by it. */
  readonly policy?: AsyncPolicy
  /**
   * Counts tokens. Default: the estimate. Give the same function each time, because its counts are remembered by it.
   */
  readonly tokenizer?: AsyncTokenizer
}

/**
 * `deriveContext`, with a policy and a tokenizer that may be asynchronous.
 *
 * Cost    O(record) for each round of questions; each text is counted once, those of a round at the same time
 * Faults  those of `deriveContext`, and `CallbackThrew` where the policy or the tokenizer fails
 * Throws  TypeError, on a budget that is no number of tokens
 *
 * @param view the record or its conversation
 * @param options budget, policy, tokenizer and notes
 * @returns the context; or `MinimumDoesNotFit`, or `CallbackThrew` if the policy or the tokenizer fails
 * @example
 * const context = await deriveContextAsync(history.view(), { budget: 32_000, tokenizer: countByProvider, previous })
 */
export const deriveContextAsync = (
  view: View<Message>,
  given: AsyncDeriveOptions,
): Task<ContextFault | CallbackThrew, DerivedContext> => {
  const options = optionsOf('deriveContextAsync', given, deriveOptions)
  usableTokens(options.budget)
  return deriveTask(async (): Promise<Either<ContextFault | CallbackThrew, DerivedContext>> => {
    const { policy = paged, tokenizer, previous, ...others } = options
    const answers = answersOf(policy)
    const counts = tokenizer === undefined ? undefined : countsOf(tokenizer)
    try {
      for (;;) {
        const missing = new Set<string>()
        const guess = (text: string): number => counts?.known.get(text) ?? (missing.add(text), textTokens(text))
        // Without the previous context: a run that is broken off must not have moved what that one remembers.
        const rest = { ...others, policy: answers.policy, ...(counts !== undefined && { tokenizer: guess }) }
        const asked = askedBy(() => deriveContext(view, rest))
        // What was selected by guessed tokens is of no use: first come the counts.
        if (missing.size > 0 && counts !== undefined) await counts.ask([...missing])
        else if (asked !== undefined) await answers.ask(asked)
        else break
      }
    } catch (cause) {
      if (cause instanceof Threw) return left({ _tag: 'CallbackThrew', callback: cause.callback, cause: cause.cause })
      return left({ _tag: 'CallbackThrew', callback: 'policy.select', cause })
    }
    return deriveContext(view, {
      ...others,
      policy: answers.policy,
      ...(counts !== undefined && { tokenizer: counts.tokenizer }),
      previous,
    })
  }, 'deriveContextAsync')
}

/** A selection that nobody has chosen for yet. */
class Unanswered extends Error {
  readonly selection: Selection
  readonly key: string

  constructor(selection: Selection, key: string) {
    super('unanswered')
    this.selection = selection
    this.key = key
  }
}

/** What a function of the caller's threw. */
class Threw extends Error {
  readonly callback: string

  constructor(callback: string, cause: unknown) {
    super(callback, { cause })
    this.callback = callback
  }
}

const askedBy = (derive: () => unknown): Unanswered | undefined => {
  try {
    derive()
    return undefined
  } catch (thrown) {
    if (thrown instanceof Unanswered) return thrown
    throw thrown
  }
}

interface Answers {
  /** Chooses what has been answered, and throws `Unanswered` for the rest. */
  readonly policy: Policy
  readonly ask: (asked: Unanswered) => Promise<void>
}

const answersOf = (policy: AsyncPolicy): Answers => {
  const before = answered.get(policy)
  if (before !== undefined) return before
  const known = new Map<string, readonly Choice[]>()
  let isSync = false // once it has answered without a promise it is asked at once
  const answers: Answers = {
    policy: Object.freeze<Policy>({
      ...policy,
      select: (selection) => {
        const key = keyOf(selection)
        const found = known.get(key)
        if (found !== undefined) return found
        const given = isSync ? policy.select(selection) : undefined
        if (given !== undefined && !isPromise(given)) return given
        throw new Unanswered(selection, key)
      },
    }),
    ask: async ({ selection, key }) => {
      try {
        const given = policy.select(selection)
        isSync = !isPromise(given)
        known.set(key, await given)
      } catch (cause) {
        throw new Threw('policy.select', cause)
      }
    },
  }
  answered.set(policy, answers)
  return answers
}

interface Counts {
  readonly known: ReadonlyMap<string, number>
  /** Counts what is known; the same function for the same tokenizer. */
  readonly tokenizer: Tokenizer
  readonly ask: (texts: readonly string[]) => Promise<void>
}

const countsOf = (tokenizer: AsyncTokenizer): Counts => {
  const before = counted.get(tokenizer)
  if (before !== undefined) return before
  const known = new Map<string, number>()
  const counts: Counts = {
    known,
    tokenizer: (text) => known.get(text) ?? textTokens(text),
    ask: async (texts) => {
      try {
        const tokens = await Promise.all(texts.map(async (text) => tokenizer(text)))
        for (const [index, text] of texts.entries()) known.set(text, tokens[index] as number)
      } catch (cause) {
        throw new Threw('tokenizer', cause)
      }
    },
  }
  counted.set(tokenizer, counts)
  return counts
}

const answered = new WeakMap<AsyncPolicy, Answers>()
const counted = new WeakMap<AsyncTokenizer, Counts>()

const isPromise = <T>(given: T | Promise<T>): given is Promise<T> =>
  typeof given === 'object' && given !== null && 'then' in given

const keyOf = ({ candidates, budget, markerTokens }: Selection): string =>
  JSON.stringify([
    budget,
    markerTokens,
    candidates.map(({ from, to, level, active, kept, tokens }) => [from, to, level, active, kept, tokens(level)]),
  ])
