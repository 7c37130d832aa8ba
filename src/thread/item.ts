/**
 * Thread items. The functions here work with the caller's own item type. These are the default types: the runtime
 * items of aioc, with one call or result per item, and one of our own, which aioc's providers ignore.
 *
 * Source  axiastudio/aioc `src/types.ts` (`AgentInputItem`), 0.2 (2026-05)
 */
import type { Part, ResultPart, Role } from '../message/index.ts'

/** A message. */
export interface MessageItem {
  readonly type: 'message'
  /** The speaker's role. */
  readonly role: 'user' | 'assistant' | 'system'
  /** The text. */
  readonly content: string
  /** The item as its provider sent it, or message data without an item type (`rawItem.indelible`). */
  readonly rawItem?: unknown
}

/** A tool call by the model. */
interface ToolCallItem {
  readonly type: 'tool_call_item'
  /** The call's id, which its output repeats. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** The model's text, or the parsed value. */
  readonly arguments?: unknown
  /** The item as its provider sent it. */
  readonly rawItem?: unknown
}

/** A tool's output. */
interface ToolCallOutputItem {
  readonly type: 'tool_call_output_item'
  /** The id of its call. */
  readonly callId: string
  /** Text, or any value. */
  readonly output?: unknown
  /** The item as its provider sent it. */
  readonly rawItem?: unknown
}

/** A part without its own item type: reasoning, a picture, a file. It belongs to the items before it. */
export interface PartItem {
  readonly type: 'part_item'
  /** The role of its message. Absent in items of earlier versions. */
  readonly role?: Role
  /** The part's index in its message; for a part of a tool result, the result's index and its own. */
  readonly at: readonly number[]
  /** The part. */
  readonly part: Part | ResultPart
}

/** An item of aioc's runtime. */
export type RuntimeItem = MessageItem | ToolCallItem | ToolCallOutputItem

/** A thread item: one of aioc's runtime, or a part without an aioc item. */
export type ThreadItem = RuntimeItem | PartItem

/** The item of a user message. */
export interface UserItem {
  readonly type: 'message'
  readonly role: 'user'
  /** The text, unchanged. */
  readonly content: string
}

/** `Item`, if a user message is assignable to it; otherwise `Item | UserItem`. */
export type WithUser<Item> = UserItem extends Item ? Item : Item | UserItem
