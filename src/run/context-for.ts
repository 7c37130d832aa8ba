/** The context that each call of a run gets instead of the whole record. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  deriveContext,
  usableTokens,
  type Budget,
  type DerivedBy,
  type DeriveOptions,
  type OfferedTool,
} from '../context/index.ts'
import type { View } from '../history/index.ts'
import { isLeft, ownFields } from '../json/index.ts'
import type { Message, Sequence, Settled } from '../message/index.ts'
import type { Note } from '../notes/kit.ts'
import type { ContextStates } from '../session/index.ts'

/** The messages to send instead of the whole record. `deriveContext` gives it. */
export interface ModelContext {
  /** The messages to send. */
  readonly messages: Settled<Sequence<Message>>
  /** The number of leading messages that equal those of the last context. */
  readonly stablePrefix: number
  /** The tokens of the whole request by the estimator, for its receipt. */
  readonly estimated?: number
  /** How the record and its notes give the messages again, for its receipt. */
  readonly derivedBy?: DerivedBy
}

/** The call that a context is for. Pass it on: `deriveContext(view, { budget, previous, ...call })`. */
export interface ModelCall {
  /** The tools of the run. */
  readonly tools: readonly OfferedTool[]
  /** The name of the model. */
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

/** How a run derives the contexts of its `budget`, with `deriveContext`. */
export interface RunDerive extends Omit<
  DeriveOptions,
  'budget' | 'previous' | 'state' | 'tools' | 'toolTokens' | 'model' | 'notes'
> {
  /** The notes of the record; of a session `() => session.notes()`, which is asked before each call. Default: none. */
  readonly notes?: Sequence<Note> | (() => Sequence<Note>)
  /**
   * Where the state of the contexts is kept, so that the first one of the next run reads what came since and not the record:
   * `contextStates(session)`. Default: nowhere. A turn keeps it with its session.
   */
  readonly states?: ContextStates | undefined
}

/** The context options of a run. */
export interface ContextOptions {
  /**
   * The tokens of each call, or the model's window and the tokens of its answer: each call is then sent a context within
   * them. The run takes its own tools off, and markers name the recall tool if the run has one. Default: everything is sent.
   */
  readonly budget?: Budget
  /** How the contexts of the `budget` are derived: the policy, the notes. Default: as `deriveContext` does it. */
  readonly derive?: RunDerive
  /** Derives the context of each call, instead of `budget`. Default: the whole record is sent. */
  readonly context?: ContextFor
}

/** The function that the loop calls before each model call. */
export interface Deriving {
  (view: View<Message>, previous: ModelContext | undefined): Either<unknown, ModelContext>
  /** Before the first call: read what an earlier run has kept. */
  readonly begin?: () => Promise<void>
  /** Called after the last context, to store what should be kept. */
  readonly end?: () => Promise<void>
}

/** Throws TypeError if the budget is invalid, or is given beside a deriving function. */
export const derivingOf = (
  { budget, derive = {}, context }: ContextOptions,
  tools: readonly OfferedTool[],
  model: string,
): Deriving | undefined => {
  const call: ModelCall = Object.freeze({ tools: Object.freeze([...tools]), model })
  if (budget !== undefined && context !== undefined)
    throw new TypeError('run: give a budget, or a context that derives, not both')
  if (context !== undefined) return (view, previous) => context(view, previous, call)
  if (budget === undefined) return undefined
  usableTokens(budget)
  const { notes = [], states, ...options } = derive
  let state: string | undefined
  let writing: Promise<void> | undefined
  /** One write at a time, of the latest. A cache that can't be read or written costs time and no more. */
  const write = (kept: string): void => {
    state = kept
    writing ??= (async () => {
      for (let written: string | undefined; written !== state;) {
        written = state
        await states?.write(written as string).catch(() => undefined)
      }
      writing = undefined
    })()
  }
  return Object.assign(
    (view: View<Message>, previous: ModelContext | undefined): Either<unknown, ModelContext> => {
      const read = typeof notes === 'function' ? notes() : notes
      const derived = deriveContext(view, ownFields({ ...options, ...call, budget, notes: read, previous, state }))
      const next = states === undefined || isLeft(derived) ? undefined : derived.right.state
      if (next !== undefined && next !== state) write(next)
      return derived
    },
    {
      begin: async () => {
        state = await states?.read().catch(() => undefined)
      },
      end: async () => writing,
    },
  )
}
