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

export interface HistoryInput {
  /** A reference history, or what it is written as. */
  readonly history: RefHistory | RefHistoryJson
}

export interface AppendInput {
  readonly action: string
  readonly message: Message
  /** Default: as it is classified. */
  readonly page?: PageKind
  /** Default: that of the store. */
  readonly scope?: string
}

export interface AppendResult {
  readonly ref: MessageRef
}

/** How much of the record is sent: what a budget of tokens leaves by the policy, or what `manageHistory` keeps within a limit. */
export type ContextLimit = { readonly budget: Budget } | { readonly maxTokens: number } | { readonly maxChars: number }

export type ManageInput = HistoryInput & ({ readonly maxTokens: number } | { readonly maxChars: number })

export interface ManageResult {
  /** The positions that are kept first. */
  readonly retained: readonly number[]
  /** The positions that are in it as they were said, or in short. */
  readonly shown: readonly number[]
  /** In tokens, or in characters. */
  readonly size: number
  readonly limit: number
  readonly overBudget: boolean
}

export interface HydrateResult {
  readonly messages: readonly Message[]
  readonly pages: readonly PageKind[]
}

export interface StreamInput extends HistoryInput {
  readonly action: string
  readonly model: ModelConfig
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
  readonly reason: FinishReason
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

export interface EndInput {
  readonly action: string
  /** Default: that of the store. */
  readonly scope?: string
}

