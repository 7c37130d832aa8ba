/** Derives the context sent for each call of a run instead of the whole record. */
import type { Either } from 'fp-ts/lib/Either.js'
import { deriveContext, usableTokens, type Budget, type DeriveOptions } from '../../context/index.ts'
import type { View } from '../../history/index.ts'
import { ownFields } from '../../json/index.ts'
import type { Message, Sequence, Settled } from '../../message/index.ts'
import type { Note } from '../../notes/internal.ts'
import type { DerivedBy, OfferedTool } from '../../context/internal.ts'
import { promptTokens, type Prompt } from './prompt.ts'

/** The messages to send instead of the whole record, as `deriveContext` returns them. */
export interface ModelContext {
  /** The messages to send. */
  readonly messages: Settled<Sequence<Message>>
  /** The number of leading messages equal to those of the last context. */
  readonly stablePrefix: number
  /** The estimated tokens of the whole request, for its receipt. */
  readonly estimated?: number
  /** The settings that derive the messages again, for the receipt. */
  readonly derivedBy?: DerivedBy
}

/** The call that a context is for. Pass it on: `deriveContext(view, { budget, previous, ...call })`. */
interface ModelCall {
  /** The tools of the run. */
  readonly tools: readonly OfferedTool[]
  /** The model's name. */
  readonly model: string
}

/**
 * Derives the context of the next call.
 *
 * @param previous the context of the last call; undefined for the first
 * @returns the context; a `Left` ends the run with `NoContext`
 */
export type ContextFor = (
  view: View<Message>,
  previous: ModelContext | undefined,
  call: ModelCall,
) => Either<unknown, ModelContext>

/** How a run derives its contexts within `budget`, with `deriveContext`. */
export interface RunDerive extends Omit<
  DeriveOptions,
  'budget' | 'previous' | 'state' | 'tools' | 'toolTokens' | 'model' | 'notes'
> {
  /** The notes of the record, or a function called before each model call: `() => session.notes()`. Default: none. */
  readonly notes?: Sequence<Note> | (() => Sequence<Note>)
}

/** The context options of a run. */
export interface ContextOptions {
  /**
   * The tokens of each call, or the model's window and completion tokens: each call gets a context within them. The
   * run subtracts its own tools, and markers name its recall tool if it has one. Default: everything is sent.
   */
  readonly budget?: Budget
  /** How to derive contexts within `budget`: the policy, the notes. Default: the defaults of `deriveContext`. */
  readonly derive?: RunDerive
  /** Derives the context of each call, instead of `budget`. Default: the whole record is sent. */
  readonly context?: ContextFor
}

/** The function that the loop calls before each model call. */
export type Deriving = (view: View<Message>, previous: ModelContext | undefined) => Either<unknown, ModelContext>

/** Throws a TypeError if the budget is invalid or combined with a deriving function. */
export const derivingOf = (
  { budget, derive = {}, context }: ContextOptions,
  tools: readonly OfferedTool[],
  model: string,
  prompt: Prompt = {},
): Deriving | undefined => {
  const call: ModelCall = Object.freeze({ tools: Object.freeze([...tools]), model })
  if (budget !== undefined && context !== undefined)
    throw new TypeError('run: pass either `budget` or `context`, not both')
  if (context !== undefined) return (view, previous) => context(view, previous, call)
  if (budget === undefined) return undefined
  const usable = usableTokens(budget)
  const { notes: known = [], ...options } = derive
  return (view, previous) => {
    const tokens = promptTokens(prompt, view)
    const within = tokens === 0 ? budget : Math.max(0, usable - tokens)
    const notes = typeof known === 'function' ? known() : known
    return deriveContext(view, ownFields({ ...options, ...call, budget: within, notes, previous }))
  }
}
