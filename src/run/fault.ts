/** What can go wrong in a run, as data. */
import { pairingFaultText, type PairingFault } from '../message/fault.ts'
import { reasonOf as textOf, taskOf, type TaskOf } from '../task/index.ts'
import { modelTypes } from './model-types.ts'
import type { RunResult } from './result.ts'

/** Why a run ended without a result. `partial` has what it came to. */
export type RunFault = NoModel | RunFailure

/** What ends a run that has begun. Each carries what the run had come to. */
export type RunFailure =
  /** The model's client threw. `status` is that of HTTP, if it got so far; `partialText` what it had said by then. */
  | {
      readonly _tag: 'ModelFailed'
      readonly model: string
      readonly step: number
      readonly reason: string
      readonly status?: number
      readonly partialText: string
      readonly cause: unknown
      readonly partial: RunResult
    }
  /** The model's stream ended without saying that the answer is whole. */
  | {
      readonly _tag: 'StreamEndedEarly'
      readonly model: string
      readonly step: number
      readonly partialText: string
      readonly partial: RunResult
    }
  /** What the model answered can't be recorded, or is no answer. */
  | {
      readonly _tag: 'InvalidAnswer'
      readonly model: string
      readonly step: number
      readonly reason: string
      readonly partial: RunResult
    }
  /** No context could be derived for the next call. */
  | { readonly _tag: 'NoContext'; readonly step: number; readonly cause: unknown; readonly partial: RunResult }
  /** A handler refused an event: a delta that was not applied, a note that was not stored. */
  | {
      readonly _tag: 'HandlerFailed'
      readonly step: number
      readonly event: string
      readonly cause: unknown
      readonly partial: RunResult
    }
  /** The run has no `context`, and its view is not settled. The compiler refuses such a view; a cast or plain JavaScript does not. */
  | {
      readonly _tag: 'ContextUnsettled'
      readonly step: number
      readonly cause: PairingFault
      readonly partial: RunResult
    }

/** Why `modelFor` found no model. */
export type NoModel =
  /** The model has neither a type nor a name that tells its provider. */
  | { readonly _tag: 'UnspecifiedModel'; readonly configured: readonly string[] }
  /** No provider is known for this type. */
  | { readonly _tag: 'UnknownModelType'; readonly name: string; readonly type?: string }
  /** The registry has no provider for this model. */
  | {
      readonly _tag: 'UnconfiguredModel'
      readonly name: string
      readonly type: string
      readonly configured: readonly string[]
    }
  /** The provider has no key. `keyFrom` says where it is read from. */
  | { readonly _tag: 'MissingKey'; readonly name: string; readonly type: string; readonly keyFrom?: string }

/** A run fault as a sentence for people. */
export const runFaultText = (fault: RunFault): string => {
  switch (fault._tag) {
    case 'ModelFailed':
      return `step ${fault.step}: ${fault.model} failed${fault.status === undefined ? '' : ` with HTTP ${fault.status}`}: ${fault.reason}`
    case 'StreamEndedEarly':
      return `step ${fault.step}: the answer of ${fault.model} ended before it was whole${fault.partialText === '' ? '' : ` (after ${fault.partialText.length} characters)`}; nothing of it was recorded`
    case 'InvalidAnswer':
      return `step ${fault.step}: the answer of ${fault.model} can't be recorded: ${fault.reason}`
    case 'NoContext':
      return `step ${fault.step}: no context could be derived: ${reasonOf(fault.cause)}`
    case 'HandlerFailed':
      return `step ${fault.step}: a handler refused the event ${fault.event}: ${reasonOf(fault.cause)}`
    case 'ContextUnsettled':
      return `step ${fault.step}: nothing was sent: ${pairingFaultText(fault.cause)}`
    case 'UnspecifiedModel':
      return `no model was named; ${fault.configured.length === 0 ? 'configure a provider and name one of its models' : `name one of a configured provider: ${fault.configured.join(', ')}`}`
    case 'UnknownModelType':
      return fault.type === undefined
        ? `whose model ${JSON.stringify(fault.name)} is can't be told by its name; say its type: ${modelTypes.join(', ')}`
        : `there is no model type ${JSON.stringify(fault.type)}; expected one of ${modelTypes.join(', ')}`
    case 'UnconfiguredModel':
      return `${fault.name} needs the provider ${fault.type}, which is not configured${fault.configured.length === 0 ? '' : ` (configured: ${fault.configured.join(', ')})`}; add it to the registry`
    case 'MissingKey':
      return `${fault.name} needs a key of ${fault.type}${fault.keyFrom === undefined ? '' : `; set ${fault.keyFrom}`}`
  }
}

/** What was thrown or returned, as text. */
export const reasonOf = (cause: unknown): string => {
  if (cause instanceof Error || typeof cause !== 'object' || cause === null) return textOf(cause)
  const { _tag, ...fields } = cause as { readonly [field: string]: unknown }
  const plain = Object.entries(fields).filter(
    ([, value]) => typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean',
  )
  const said = plain
    .slice(0, 6)
    .map(([name, value]) => `${name} ${JSON.stringify(value).slice(0, 200)}`)
    .join(', ')
  if (typeof _tag === 'string') return said === '' ? _tag : `${_tag} (${said})`
  return said === '' ? textOf(cause) : said
}

/** Makes a task of what a run comes to. */
export const runTask: TaskOf<RunFailure> = taskOf(runFaultText)
