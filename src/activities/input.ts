/** What activities take and give: JSON, so that an engine can carry it. */
import type { Budget } from '../context/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { Usage } from '../notes/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { MessageRef, RefHistory, RefHistoryJson, RefTree } from '../refs/index.ts'
import type { FinishReason, ModelConfig, ToolDefinition } from '../run/index.ts'

/**
 * The activities. An action is one thing that a workflow does, whatever it takes; its id is unique in the scope, and the
 * same each time it is tried.
 */
export interface HistoryActivities {
  /** Store a message, and give its ref. Once for an action: trying again gives the same ref, with another message it is refused. */
  readonly appendMessage: (input: AppendInput) => Promise<AppendResult>
  /** What a prompt within a limit would keep of the record: positions and sizes, no content. `stream` with the same limit sends that. */
  readonly manage: (input: ManageInput) => Promise<ManageResult>
  /** The refs of a history that was saved in an older form, for a workflow to go on with. */
  readonly adopt: (input: HistoryInput) => Promise<AdoptResult>
  /** Store refs as a tree, or add them to one, so that inputs can name it. Trying again gives the same tree. */
  readonly keepRefs: (input: KeepInput) => Promise<KeepResult>
  /**
   * Run the tool that the model called, with the arguments that it gave, and store the result. Once for an action: trying
   * again after the result was stored gives the same ref. A tool whose worker died in the middle runs again: give it the
   * action as an idempotency key. What a tool throws is an error result, not a failure.
   */
  readonly runTool: (input: ToolInput) => Promise<AppendResult>
  /** The content of a history. What it gives is content: call it where that may be. */
  readonly hydrate: (input: HistoryInput) => Promise<HydrateResult>
  /** Call the model on a history; tell what it says to the sink; store the answer, and give its ref with a summary. */
  readonly stream: (input: StreamInput) => Promise<StreamResult>
  /** Tell the end of a stream whose action was given up, unless it was told. An answer that is stored is told as one. */
  readonly endStream: (input: EndInput) => Promise<void>
  /**
   * Forget actions by age, for a schedule to call. An action that is forgotten and tried again is done again, so take an
   * age that no workflow of yours reaches.
   *
   * Cost    O(logs of the scope); in a key-value store O(its actions)
   */
  readonly forgetActions: (input: ForgetInput) => Promise<ForgetResult>
}

/** The history that an activity works on. */
export interface HistoryInput {
  /**
   * A reference history; what it is written as, whole or as a reference (`toReference`); or a history that was saved in an
   * older form, by this library or another system: `parseHistoryJson` says which. Its content is stored first.
   */
  readonly history: RefHistory | RefHistoryJson | SavedHistory
}

/** A history that was saved in another form: a list of chat messages, or an object around a list of refs. */
export type SavedHistory = readonly object[] | { readonly type: 'llm2' }

/** A message to store, and the action that stores it. */
export interface AppendInput {
  /** The id of the action. */
  readonly action: string
  /** The message. */
  readonly message: Message
  /** Default: as it is classified. */
  readonly page?: PageKind
  /** Default: that of the store. */
  readonly scope?: string
}

/** The ref of the stored message. */
export interface AppendResult {
  /** The ref. */
  readonly ref: MessageRef
}

/** How much of the record is sent: what a budget of tokens leaves by the policy, or what `manageHistory` keeps within a limit. */
export type ContextLimit = { readonly budget: Budget } | { readonly maxTokens: number } | { readonly maxChars: number }

/** A history, and the limit of a prompt. */
export type ManageInput = HistoryInput & ({ readonly maxTokens: number } | { readonly maxChars: number })

/** What a prompt within the limit keeps: positions and sizes. */
export interface ManageResult {
  /** The positions that are kept first. */
  readonly retained: readonly number[]
  /** The positions that are in it as they were said, or in short. */
  readonly shown: readonly number[]
  /** In tokens, or in characters. */
  readonly size: number
  /** The limit, in the same unit. */
  readonly limit: number
  /** Whether the messages to keep exceed the limit by themselves. */
  readonly overBudget: boolean
  /** The prompt as a history of its own: its messages are stored, also those that were shortened for it. */
  readonly history: RefHistoryJson
  /** The record, where the input was one that was saved in another form. */
  readonly adopted?: RefHistoryJson
}

/** An adopted history. */
export interface AdoptResult {
  /** Its refs. Its content is stored. */
  readonly history: RefHistoryJson
  /** How many values of the saved form are not in it. `parseHistoryJson` lists them. */
  readonly losses: number
}

/** Refs to store. */
export interface KeepInput {
  /** The tree that they are added to. Default: none, they are the first. */
  readonly tree?: RefTree
  /** The refs, in order. */
  readonly refs: readonly MessageRef[]
  /** Default: that of the store. */
  readonly scope?: string
}

/** The tree that has the refs. */
export interface KeepResult {
  /** Its root and length; undefined, where there is no ref. */
  readonly tree?: RefTree
}

/** A call to run. */
export interface ToolInput extends HistoryInput {
  /** The id of the action. */
  readonly action: string
  /** The call: one that the last answer of the history made. */
  readonly call: { readonly id: string; readonly name: string }
  /** Don't run it: what the model reads as the result, marked as an error. */
  readonly refused?: string
}

/** The content of a history. */
export interface HydrateResult {
  /** The messages, in order. */
  readonly messages: readonly Message[]
  /** Their page kinds. */
  readonly pages: readonly PageKind[]
}

/** A call of the model. */
export interface StreamInput extends HistoryInput {
  /** The id of the action. */
  readonly action: string
  /** Which model to call. */
  readonly model: ModelConfig
  /** The tools that it may call. Default: none. */
  readonly tools?: readonly ToolDefinition[]
  /** What the model's provider takes beside messages and tools. */
  readonly parameters?: JsonObject
  /** Default: everything is sent. */
  readonly limit?: ContextLimit
  /** Store the refs of the history as a tree, and give it in the result. Default: no. */
  readonly tree?: boolean
}

/** An answer without its content. The arguments of calls are content too: an activity that runs a tool hydrates them. */
export interface StreamResult {
  /** Undefined, if the model had nothing to say. */
  readonly ref?: MessageRef
  /** Why the model stopped. */
  readonly reason: FinishReason
  /** The tokens that the provider counted. */
  readonly usage: Usage
  /** The calls that wait for results. */
  readonly calls: readonly { readonly id: string; readonly name: string }[]
  /** The model that answered, as the provider names it. */
  readonly model?: string
  /** Whether what is to be kept exceeds the limit of `maxTokens` or `maxChars` by itself: then more than the limit was sent. */
  readonly overBudget?: true
  /** How many events the sink did not take. */
  readonly unpublished?: number
  /** The tree that has the refs of the input, where it was asked for. */
  readonly tree?: RefTree
  /** The refs of the input, where it was a history that was saved in another form. The answer is not among them. */
  readonly adopted?: RefHistoryJson
}

/** The action whose stream is to end. */
export interface EndInput {
  /** The id of the action. */
  readonly action: string
  /** Default: that of the store. */
  readonly scope?: string
}

/** Which actions to forget. */
export interface ForgetInput {
  /** Milliseconds since the action began. */
  readonly olderThan: number
  /** Default: that of the store. */
  readonly scope?: string
}

/** What was forgotten. */
export interface ForgetResult {
  /** How many actions. */
  readonly forgotten: number
}
