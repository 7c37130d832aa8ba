/**
 * Managed histories: shortens a long record for an agent's prompt by the marks of its messages.
 * Messages that later work depends on are kept first. Large tool results are cut, oldest first;
 * whatever still does not fit becomes a pointer.
 *
 * It is a policy of `deriveContext`, so every guarantee of a context holds: nothing is rewritten,
 * calls and results stay together, and nothing disappears without a marker.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isRight, optionsOf } from '../../json/index.ts'
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import type { Note } from '../../notes/kit.ts'
import type { ResidencyLevel } from '../../pages/index.ts'
import type { Sequence } from '../../sequence/index.ts'
import { checkDeriving, checkView, noteAt } from '../check.ts'
import { tokens } from '../deriving/budget.ts'
import { adjustableChoices, isEvidence, isProtected } from './degrade.ts'
import { deriveContext, type DerivedContext, type DeriveOptions, type SentContext } from '../deriving/derive.ts'
import type { ContextFault } from '../fault.ts'
import { markInMeta, type MarkOf } from './marks.ts'
import type { Candidate, Policy } from './policy.ts'
import { plain } from '../showing/represent.ts'
import { retainedPositions } from './retained.ts'
import { estimateTokens, type Estimator } from '../counting/tokens.ts'

/** Options for a managed view: the limit, the marks and the notes. */
export type ManageOptions = (
  | { readonly maxTokens: number; readonly maxChars?: undefined; readonly estimate?: Estimator }
  /** Counted in UTF-16 units over all parts of a message. */
  | { readonly maxChars: number; readonly maxTokens?: undefined }
) & {
  /** Returns a message's mark. Default: the mark under `indelible` in its `meta`. */
  readonly markOf?: MarkOf
  /** The notes of the record. Default: none. */
  readonly notes?: Sequence<Note>
  /** The context of the last call, to save work. */
  readonly previous?: SentContext | undefined
}

/** A context derived by message marks. Its sizes are in the unit of the limit. */
export interface ManagedView extends DerivedContext {
  /**
   * True if the kept messages do not fit the limit in full. Each omitted range then has a line, and
   * some kept messages are shortened; the context fits the limit unless `tokens` is larger. False: every
   * kept message is complete.
   */
  readonly overBudget: boolean
  /** The positions of the kept messages. */
  readonly retained: readonly number[]
}

/**
 * Shortens a record for a prompt, to a limit of tokens or characters.
 *
 * It keeps, in this order: the last message with its call or result; the instructions at the beginning, with the
 * first question; every message marked as feedback, rule or preference; the latest test result, self review and
 * summary, each with the messages up to the next marked one; reports with their proposals. First it cuts tool results
 * to head and tail, oldest first. Then it replaces the remaining messages by pointers, oldest first. If the kept
 * messages still do not fit, it sets `overBudget` and shortens large tool results among them; if not even the minimum
 * of everything fits, it returns that minimum, which is larger than the limit.
 *
 * Shortened messages keep their marks. Managing a managed view again changes nothing if it fit the limit.
 *
 * Cost    O(record)
 *
 * @throws TypeError if there is not one limit, it is not a number, or an argument has the wrong type
 */
export const manageHistory = (view: View<Message>, given: ManageOptions): ManagedView => {
  checkView('manageHistory', view)
  const options = optionsOf<ManageOptions & Pick<DeriveOptions, 'estimate'>>('manageHistory', given, optionNames)
  checkDeriving('manageHistory', options)
  const { markOf = markInMeta, notes = [], previous } = options
  for (const index of Array.from({ length: notes.length }).keys()) noteAt(notes, index)
  const limit = options.maxTokens ?? options.maxChars
  if (limit === undefined) throw new TypeError('manageHistory needs a limit: maxTokens or maxChars')
  if (options.maxTokens !== undefined && options.maxChars !== undefined)
    throw new TypeError('manageHistory takes one limit: either maxTokens or maxChars')
  if (options.maxTokens === undefined) tokens('maxChars', limit, 'characters')
  else tokens('maxTokens', limit)
  const estimate = options.maxTokens === undefined ? charactersOf : (options.estimate ?? estimateTokens)
  const retained = retainedPositions(view, notes, markOf)
  const policy = managedPolicy(new Set(retained))
  const deriveWithin = (budget: number): Either<ContextFault, DerivedContext> =>
    deriveContext(view, { budget, policy, estimate, notes, previous })
  let derived = deriveWithin(limit)
  const fits = isRight(derived)
  while (isLeft(derived)) derived = deriveWithin(Math.ceil(derived.left.needed))
  const { residency } = derived.right
  const short = retained.filter((position) => residency.at(position) !== 'full')
  const overBudget = !fits || (short.length > 0 && canBeWhole(short, deriveWithin(Number.MAX_SAFE_INTEGER)))
  return Object.freeze(
    Object.defineProperties({ overBudget, retained } as ManagedView, Object.getOwnPropertyDescriptors(derived.right)),
  )
}

const optionNames = {
  maxTokens: true,
  maxChars: true,
  estimate: true,
  markOf: true,
  notes: true,
  previous: true,
} as const

/** Whether a position can be shown in full at all: a result without a call is in no context. */
const canBeWhole = (positions: readonly number[], unlimited: Either<ContextFault, DerivedContext>): boolean =>
  isRight(unlimited) && positions.some((position) => unlimited.right.residency.at(position) === 'full')

const managedPolicy = (retained: ReadonlySet<number>): Policy => ({
  name: 'managed',
  choose: 'always',
  keeps: retained,
  select: (selection) => {
    const { candidates, budget } = selection
    const now = adjustableChoices(
      selection,
      candidates.map(({ level }) => level),
    )
    const lowerWhere = (which: (candidate: Candidate) => boolean, level: ResidencyLevel): void => {
      for (const [index, candidate] of candidates.entries()) {
        if (now.total <= budget) return
        if (which(candidate) && candidate.levels.includes(level)) now.set(index, level)
      }
    }
    // The active turn is shortened after everything else, and the question last.
    const task = candidates.find(({ active }) => active)
    const turns = [
      (candidate: Candidate) => !candidate.active,
      (candidate: Candidate) => candidate.active && candidate !== task,
      (candidate: Candidate) => candidate === task,
    ]
    for (const isOf of turns) {
      const mayBeLowered = (candidate: Candidate): boolean => isOf(candidate) && !candidate.kept
      lowerWhere((candidate) => mayBeLowered(candidate) && isLargeAnswer(candidate), 'compressed')
      lowerWhere(mayBeLowered, 'pointer')
      lowerWhere((candidate) => mayBeLowered(candidate) && isProtected(candidate), 'structured')
    }
    lowerWhere((candidate) => candidate.kept && isLargeAnswer(candidate), 'compressed')
    return now.levels
  },
})

const isLargeAnswer = (candidate: Candidate): boolean =>
  isEvidence(candidate) &&
  candidate.messages.some(({ content }) =>
    content.some((part) => part.type === 'tool_result' && plain(part).length > largeAnswerLength),
  )

const largeAnswerLength = 1000

const charactersOf: Estimator = (message) => message.content.reduce((sum, part) => sum + plain(part).length, 0)
