/**
 * The items of a thread. The functions here take the caller's own item type; these are the default: the runtime items
 * of aioc, which stand one call or one result an entry.
 *
 * Source  axiastudio/aioc `src/types.ts` (`AgentInputItem`), 0.2 (2026-05)
 */

/** What somebody said. */
export interface MessageItem {
  readonly type: 'message'
  readonly role: 'user' | 'assistant' | 'system'
  readonly content: string
  /** The item as its provider sent it. */
  readonly rawItem?: unknown
}

/** A call the model asks for. `arguments` is the text it wrote, or the value it stands for. */
export interface ToolCallItem {
  readonly type: 'tool_call_item'
  readonly callId: string
  readonly name: string
  readonly arguments?: unknown
  readonly rawItem?: unknown
}

/** What the tool answered: text, or any value. */
export interface ToolCallOutputItem {
  readonly type: 'tool_call_output_item'
  readonly callId: string
  readonly output?: unknown
  readonly rawItem?: unknown
}

export type ThreadItem = MessageItem | ToolCallItem | ToolCallOutputItem

/** The item that a string becomes. */
export interface UserItem {
  readonly type: 'message'
  readonly role: 'user'
  readonly content: string
}

/** `Item`, if a user message is one; otherwise either of them. */
export type WithUser<Item> = UserItem extends Item ? Item : Item | UserItem
