/** The inputs and results of activities: JSON, so that an engine can carry them. */
import type { Budget } from 'indelible/context'
import type { JsonObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/internal/notes'
import type { PageKind } from 'indelible/pages'
import type { MessageRef, RefHistory, RefHistoryJson, RefTree } from '../refs/index.ts'
import type { FinishReason, ModelConfig, ToolDefinition } from 'indelible/run'

/**
 * The activities. An action is one step of a workflow, however many attempts it takes; its id is
 * unique in the scope, and equal in all attempts.
 */
export interface HistoryActivities {
  /** Store a message, once for an action: a retry returns the same ref, and another message is refused. */
  readonly appendMessage: (input: AppendInput) => Promise<AppendResult>
  /**
   * The part of the record that a prompt within a limit keeps: positions and sizes, without
   * content. `stream` with the same limit sends that prompt.
   */
  readonly manage: (input: ManageInput) => Promise<ManageResult>
  /**
   * Convert a history that was saved in an older form, so that a workflow can continue it.
   *
   * @returns its refs; its content is stored
   */
  readonly adopt: (input: HistoryInput) => Promise<AdoptResult>
  /**
   * Store refs as a tree, or add them to one, so that inputs can name the tree. A retry returns the same tree.
   *
   * @param input the refs, and the tree to add them to
   */
  readonly keepRefs: (input: KeepInput) => Promise<KeepResult>
  /**
   * Run the tool that the model called, with its arguments, and store the result, once for an action: after
   * the result is stored, a retry returns the same ref. If a worker dies mid-run, the tool runs again, so pass
   * the action as an idempotency key. An error that the tool throws becomes an error result, not a failure.
   *
   * @param input the action, the history and the call
   */
  readonly runTool: (input: ToolInput) => Promise<AppendResult>
  /**
   * Read the content of a history. The result is content: call this only where content is allowed.
   *
   * @returns the messages and their page kinds
   */
  readonly hydrate: (input: HistoryInput) => Promise<HydrateResult>
  /**
   * Call the model on a history, publish the events of its answer, store the answer, and return its ref with a summary.
   *
   * @param input the action, the history, the model and its tools
   * @returns the ref, usage and calls of the answer
   */
  readonly stream: (input: StreamInput) => Promise<StreamResult>
  /**
   * Publish the end of a stream whose action was given up, unless it was published before. If an
   * answer is stored, the end reports it.
   */
  readonly endStream: (input: EndInput) => Promise<void>
  /**
   * Forget old actions; call it on a schedule. A forgotten action that is retried happens again, so
   * choose an age that none of your workflows reaches.
   *
   * Cost    O(logs of the scope); in a key-value store O(its actions)
   *
   * @param input the age in milliseconds
   * @returns the number of forgotten actions
   */
  readonly forgetActions: (input: ForgetInput) => Promise<ForgetResult>
}

/** The history that an activity works on. */
export interface HistoryInput {
  /**
   * A reference history; its JSON, whole or as a reference (`toReference`); or a history saved in an older form by
   * this library or another system (`parseHistoryJson` lists the forms). Content in an older form is stored first.
   */
  readonly history: RefHistory | RefHistoryJson | SavedHistory
}

/** A history in an older form: a list of chat messages, or an object with a list of refs. */
type SavedHistory = readonly object[] | { readonly type: 'llm2' }

/** An input that names its action. */
interface ActionInput {
  /** The id of the action. */
  readonly action: string
}

/** An input that may name a scope. */
interface ScopedInput {
  /** The scope. Default: that of the store. */
  readonly scope?: string
}

/** A message to store, and the action that stores it. */
export interface AppendInput extends ActionInput, ScopedInput {
  /** The message. */
  readonly message: Message
  /** The page kind. Default: classified. */
  readonly page?: PageKind
}

/** The ref of the stored message. */
export interface AppendResult {
  /** The ref. */
  readonly ref: MessageRef
}

/**
 * How much of the record to send: what a policy derives for a token budget, or what `manageHistory`
 * keeps within a limit.
 */
export type ContextLimit = { readonly budget: Budget } | { readonly maxTokens: number } | { readonly maxChars: number }

/** A history, and the limit of a prompt. */
export type ManageInput = HistoryInput & ({ readonly maxTokens: number } | { readonly maxChars: number })

/** The positions and sizes that a prompt within the limit keeps. */
export interface ManageResult {
  /** The positions that must be kept. */
  readonly retained: readonly number[]
  /** The positions in the prompt, whole or shortened. */
  readonly shown: readonly number[]
  /** The size in tokens, or in characters. */
  readonly size: number
  /** The limit, in the same unit. */
  readonly limit: number
  /** Whether the messages that must be kept exceed the limit on their own. */
  readonly overBudget: boolean
  /** The number of messages whose content was lost; the prompt has placeholders for them. Absent if none. */
  readonly lost?: number
  /** The prompt as a separate history. Its messages are stored, including the shortened ones. */
  readonly history: RefHistoryJson
  /** The record, if the input was saved in an older form. */
  readonly adopted?: RefHistoryJson
}

/** An adopted history. */
export interface AdoptResult {
  /** Its refs. Its content is stored. */
  readonly history: RefHistoryJson
  /** The number of values of the saved form that were left out. `parseHistoryJson` lists them. */
  readonly losses: number
}

/** Refs to store. */
export interface KeepInput extends ScopedInput {
  /** The tree to add the refs to. Default: none. */
  readonly tree?: RefTree
  /** The refs, in order. */
  readonly refs: readonly MessageRef[]
}

/** The tree of the refs. */
export interface KeepResult {
  /** Its root and length; undefined if there are no refs. */
  readonly tree?: RefTree
}

/** A call to run. */
export interface ToolInput extends HistoryInput, ActionInput {
  /** The call: one from the last answer of the history. */
  readonly call: { readonly id: string; readonly name: string }
  /** Don't run the tool; the model reads this text as an error result. Default: run it. */
  readonly refused?: string
}

/** The content of a history. */
interface HydrateResult {
  /** The messages, in order. */
  readonly messages: readonly Message[]
  /** Their page kinds. */
  readonly pages: readonly PageKind[]
}

/** A call of the model. */
export interface StreamInput extends HistoryInput, ActionInput {
  /** The model to call. */
  readonly model: ModelConfig
  /** The tools that it may call. Default: none. */
  readonly tools?: readonly ToolDefinition[]
  /** The provider's own parameters. Default: none. */
  readonly parameters?: JsonObject
  /** How much of the record to send. Default: all of it. */
  readonly limit?: ContextLimit
  /** Store the refs of the history as a tree, and return it. Default: false. */
  readonly tree?: boolean
}

/** An answer without its content. Call arguments are content too: an activity that runs a tool hydrates them. */
export interface StreamResult {
  /** The ref of the answer; undefined if the model said nothing. */
  readonly ref?: MessageRef
  /** Why the model stopped. */
  readonly reason: FinishReason
  /** The tokens that the provider counted. */
  readonly usage: Usage
  /** The calls that need results. */
  readonly calls: readonly { readonly id: string; readonly name: string }[]
  /** The model that answered, under the provider's name. */
  readonly model?: string
  /** True if the kept messages alone exceed `maxTokens` or `maxChars`, so that more than the limit was sent. */
  readonly overBudget?: true
  /** The number of messages whose content was lost; the model was sent placeholders for them. Absent if none. */
  readonly lost?: number
  /** The number of events that the sink did not accept. */
  readonly unpublished?: number
  /** The tree of the input's refs, if requested. */
  readonly tree?: RefTree
  /** The refs of the input, if it was saved in an older form, without the answer. */
  readonly adopted?: RefHistoryJson
}

/** The action whose stream to end. */
export interface EndInput extends ActionInput, ScopedInput {}

/** The actions to forget. */
export interface ForgetInput extends ScopedInput {
  /** The minimum age of an action to forget, in milliseconds. */
  readonly olderThan: number
}

/** The result of `forgetActions`. */
export interface ForgetResult {
  /** The number of forgotten actions. */
  readonly forgotten: number
}
