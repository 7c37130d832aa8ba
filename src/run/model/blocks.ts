/** The blocks of a streaming answer, as events: shared by the adapters of the providers. */
import type { Part } from '../../message/index.ts'
import type { BlockType, ModelEvent } from './model.ts'

interface Block {
  readonly index: number
  readonly block: BlockType
}

/** What the stream says of a call when its block starts. Only texts become part of the event. */
interface NamedCall {
  readonly id?: unknown
  readonly name?: unknown
}

/** Numbers the blocks of an answer in order of appearance. `Key` is what the provider's events name a block by. */
export class Blocks<Key> {
  readonly #known = new Map<Key, Block>()
  #count = 0

  get count(): number {
    return this.#count
  }

  has(key: Key): boolean {
    return this.#known.has(key)
  }

  /** Starts a block, in place of an earlier one of the same key. */
  *start(key: Key, type: BlockType, { id, name }: NamedCall = {}): Generator<ModelEvent, Block> {
    const block = { index: this.#count++, block: type }
    this.#known.set(key, block)
    const isCall = type === 'tool_call'
    yield {
      type: 'block_start',
      ...block,
      ...(isCall && typeof id === 'string' && { callId: id }),
      ...(isCall && typeof name === 'string' && { name }),
    }
    return block
  }

  /** The block of a key. Starts it if the provider did not. */
  *at(key: Key, type: BlockType, call?: NamedCall): Generator<ModelEvent, Block> {
    return this.#known.get(key) ?? (yield* this.start(key, type, call))
  }

  /** A piece of a block's text. */
  *grow(key: Key, type: TextBlock, text: string, call?: NamedCall): Generator<ModelEvent> {
    const { index } = yield* this.at(key, type, call)
    yield deltaOf(type, index, text)
  }

  /** The end of a block, with its part. */
  *end(key: Key, type: BlockType, part: Part, call?: NamedCall): Generator<ModelEvent> {
    const block = yield* this.at(key, type, call)
    yield { type: 'block_end', ...block, part }
  }
}

/** A block whose text streams in pieces. */
type TextBlock = Exclude<BlockType, 'provider'>

/** A piece of a block's text. */
export const deltaOf = (block: TextBlock, index: number, text: string): ModelEvent => {
  if (block === 'reasoning') return { type: 'reasoning_delta', index, block, text }
  if (block === 'tool_call') return { type: 'arguments_delta', index, block, text }
  return { type: 'text_delta', index, block, text }
}
