/** What activities take and give: JSON, so that an engine can carry it. */
import type { Budget } from '../context/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { Usage } from '../notes/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { MessageRef, RefHistory, RefHistoryJson } from '../refs/index.ts'
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
  /** The content of a history. What it gives is content: call it where that may be. */
  readonly hydrate: (input: HistoryInput) => Promise<HydrateResult>
  /** Call the model on a history; tell what it says to the sink; store the answer, and give its ref with a summary. */
  readonly stream: (input: StreamInput) => Promise<StreamResult>
  /** Tell the end of a stream whose action was given up, unless it was told. An answer that is stored is told as one. */
  readonly endStream: (input: EndInput) => Promise<void>
}

/** The history that an activity works on. */
export interface HistoryInput {
  /** A reference history, or what it is written as. */
  readonly history: RefHistory | RefHistoryJson
}

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
}

/** The action whose stream is to end. */
export interface EndInput {
  /** The id of the action. */
  readonly action: string
  /** Default: that of the store. */
  readonly scope?: string
}
