/**
 * The items of a thread. The functions here take the caller's own item type; these are the default: the runtime items
 * of aioc, which stand one call or one result an entry, and one of our own, which its providers pass by.
 *
 * Source  axiastudio/aioc `src/types.ts` (`AgentInputItem`), 0.2 (2026-05)
 */
import type { Part, ResultPart } from '../message/index.ts'

/** One message. */
export interface MessageItem {
  /** Marks a message. */
  readonly type: 'message'
  /** Who spoke. */
  readonly role: 'user' | 'assistant' | 'system'
  /** The text. */
  readonly content: string
  /** The item as its provider sent it, or (`rawItem.indelible`) what other items can't say of its message. */
  readonly rawItem?: unknown
}

/** A call that the model asks for. */
export interface ToolCallItem {
  /** Marks a call. */
  readonly type: 'tool_call_item'
  /** The id of the call. Its output has the same. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** The text that the model wrote, or the value that it stands for. */
  readonly arguments?: unknown
  /** The item as its provider sent it. */
  readonly rawItem?: unknown
}

/** The answer of a tool. */
export interface ToolCallOutputItem {
  /** Marks an output. */
  readonly type: 'tool_call_output_item'
  /** The id of the call that it answers. */
  readonly callId: string
  /** Text, or any value. */
  readonly output?: unknown
  /** The item as its provider sent it. */
  readonly rawItem?: unknown
}

/** A part of a message that no other item can say: reasoning, a picture, a file. It belongs to the items before it. */
export interface PartItem {
  /** Marks a part. */
  readonly type: 'part_item'
  /** Its index in the content of its message; in a tool result, the index of that and its own there. */
  readonly at: readonly number[]
  /** The part. */
  readonly part: Part | ResultPart
}

/** An item of aioc's runtime. */
export type RuntimeItem = MessageItem | ToolCallItem | ToolCallOutputItem

/** An item of a thread: of aioc's runtime, or a part that it has no item for. */
export type ThreadItem = RuntimeItem | PartItem

/** The item of a user message. */
export interface UserItem {
  /** Marks a message. */
  readonly type: 'message'
  /** The user spoke. */
  readonly role: 'user'
  /** The text, unchanged. */
  readonly content: string
}

/** `Item`, if a user message is assignable to it; otherwise `Item | UserItem`. */
export type WithUser<Item> = UserItem extends Item ? Item : Item | UserItem
