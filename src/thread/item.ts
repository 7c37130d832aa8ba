/**
 * The items of a thread. The functions here take the caller's own item type; these are the default: the runtime items
 * of aioc, which stand one call or one result an entry.
 *
 * Source  axiastudio/aioc `src/types.ts` (`AgentInputItem`), 0.2 (2026-05)
 */

/** One message. */
export interface MessageItem {
  /** Marks a message. */
  readonly type: 'message'
  /** Who spoke. */
  readonly role: 'user' | 'assistant' | 'system'
  /** The text. */
  readonly content: string
  /** The item as its provider sent it, or (`rawItem.indelible`) what `encodeThread` could not say otherwise. */
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

/** An item of aioc's runtime. */
export type ThreadItem = MessageItem | ToolCallItem | ToolCallOutputItem

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
