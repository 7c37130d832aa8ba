/** What infers, and which results are not there yet. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { ModelMessage } from 'ai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expectTypeOf, it } from 'vitest'
import {
  appendUserMessage as rootAppend,
  applyRunResultHistory as rootApply,
  replaceThreadHistory as rootReplace,
  toThreadHistory as rootToThread,
  type Message,
  type View,
} from 'indelible'
import type { RunResult, RunStream } from 'indelible/run'
import {
  appendUserMessage,
  applyRunResultHistory,
  checkThread,
  decodeThread,
  encodeThread,
  replaceThreadHistory,
  toThreadHistory,
  type ThreadItem,
  type ThreadProblem,
  type UserItem,
} from 'indelible/thread'
import type { Immutable } from '../../src/json/immutable.ts'

interface Own {
  who: string
}
interface Stored {
  id: string
  history: ThreadItem[]
}
declare const items: readonly ThreadItem[]
declare const own: readonly Own[]
declare const stored: Stored
declare const result: RunResult
declare const finished: { finalOutput: string; history: ThreadItem[]; lastAgent: object }
declare const running: RunStream
declare const view: View<Message>
declare const chat: (messages: ChatCompletionMessageParam[]) => void
declare const responses: (input: ResponseInputItem[]) => void
declare const ai: (messages: ModelMessage[]) => void

describe('toThreadHistory types', () => {
  it('returns the caller’s item type', () => {
    expectTypeOf(toThreadHistory('hello')).toEqualTypeOf<ThreadItem[]>()
    expectTypeOf(toThreadHistory(items)).toEqualTypeOf<ThreadItem[]>()
    expectTypeOf(toThreadHistory(items as string | readonly ThreadItem[])).toEqualTypeOf<ThreadItem[]>()
  })
  it("has a readable error if a user message is not an item of the caller's type", () => {
    expectTypeOf(toThreadHistory(own)).toEqualTypeOf<(Own | UserItem)[]>()
  })
  it('is accepted by other libraries; with deep it is readonly, as it is frozen', () => {
    chat(toThreadHistory<ChatCompletionMessageParam>('x'))
    responses(toThreadHistory<ResponseInputItem>('x'))
    ai(toThreadHistory<ModelMessage>('x'))
    const frozen = toThreadHistory(items, { deep: true })
    expectTypeOf(frozen).toEqualTypeOf<readonly Immutable<ThreadItem>[]>()
    // @ts-expect-error it is frozen
    frozen.push({ type: 'message', role: 'user', content: 'x' })
    // @ts-expect-error an item is frozen, too
    if (frozen[0]?.type === 'message') frozen[0].content = 'x'
    appendUserMessage(frozen, 'x')
  })
})

describe('appendUserMessage types', () => {
  it("keeps the history's type", () => {
    expectTypeOf(appendUserMessage(items, 'x')).toEqualTypeOf<ThreadItem[]>()
    expectTypeOf(appendUserMessage([], 'x')).toExtend<readonly unknown[]>()
    expectTypeOf(appendUserMessage(own, 'x')).toEqualTypeOf<(Own | UserItem)[]>()
    // @ts-expect-error content is text
    appendUserMessage(items, ['x'])
  })
})

describe('applyRunResultHistory types', () => {
  it('takes the type arguments of aioc, the context of the run first', () => {
    const result = { history: items }
    expectTypeOf(applyRunResultHistory<{ readonly user: string }, Stored>(stored, result)).toEqualTypeOf<Stored>()
    expectTypeOf(applyRunResultHistory<Stored>(stored, result)).toEqualTypeOf<Stored>()
    // @ts-expect-error a promise of a result is no result
    void (() => applyRunResultHistory<unknown, Stored>(stored, Promise.resolve(result)))
  })
})

it('the four helpers are in the root entry', () => {
  expectTypeOf(rootToThread).toEqualTypeOf<typeof toThreadHistory>()
  expectTypeOf(rootAppend).toEqualTypeOf<typeof appendUserMessage>()
  expectTypeOf(rootReplace).toEqualTypeOf<typeof replaceThreadHistory>()
  expectTypeOf(rootApply).toEqualTypeOf<typeof applyRunResultHistory>()
})

describe('replaceThreadHistory types', () => {
  it('keeps the type of the thread', () => {
    expectTypeOf(replaceThreadHistory(stored, items)).toEqualTypeOf<Stored>()
    expectTypeOf(replaceThreadHistory({ history: own, title: 't' }, [])).toEqualTypeOf<{
      history: readonly Own[]
      title: string
    }>()
  })
  it('takes items of the thread’s type only', () => {
    // @ts-expect-error these are no items of this thread
    replaceThreadHistory(stored, own)
    // @ts-expect-error a thread has a history
    replaceThreadHistory({ id: 't1' }, [])
  })
})

describe('applyRunResultHistory types', () => {
  it('accepts a finished result', () => {
    expectTypeOf(applyRunResultHistory(stored, { history: items })).toEqualTypeOf<Stored>()
    expectTypeOf(applyRunResultHistory(stored, finished)).toEqualTypeOf<Stored>()
    expectTypeOf(applyRunResultHistory(stored, result)).toEqualTypeOf<Stored>()
    expectTypeOf(applyRunResultHistory({ history: own }, { history: own })).toEqualTypeOf<{ history: readonly Own[] }>()
  })
  it('refuses a running result', () => {
    const promised = Promise.resolve(result)
    // @ts-expect-error a promise of a result
    applyRunResultHistory(stored, promised)
    // @ts-expect-error a run of this library, that has a result later
    applyRunResultHistory(stored, running)
    const stream: AsyncIterable<object> & { result: Promise<RunResult> } = Object.assign((async function* () {})(), {
      result: promised,
    })
    // @ts-expect-error a stream that has a result later
    applyRunResultHistory(stored, stream)
    const early: AsyncIterable<object> & { history: ThreadItem[] } = Object.assign((async function* () {})(), {
      history: [],
    })
    // @ts-expect-error a stream whose history still grows
    applyRunResultHistory(stored, early)
    const task: TaskEither<Error, RunResult> = () => new Promise(() => undefined)
    // @ts-expect-error a task that has not been started
    applyRunResultHistory(stored, task)
    const either = { _tag: 'Right', right: result } as Either<Error, RunResult>
    // @ts-expect-error what may have failed
    applyRunResultHistory(stored, either)
  })
  it('refuses other items, and run messages that may not be items', () => {
    // @ts-expect-error these are no items of this thread
    applyRunResultHistory(stored, { history: own })
    // @ts-expect-error messages become thread items, and this thread has items of its own
    applyRunResultHistory({ history: own }, result)
  })
})

describe('other thread types', () => {
  it('accept readonly values and return the stated types', () => {
    expectTypeOf(checkThread(items)).toEqualTypeOf<readonly ThreadProblem[]>()
    expectTypeOf(encodeThread(view)).toEqualTypeOf<ThreadItem[]>()
    const messages = decodeThread(items)
    if (messages._tag === 'Right') expectTypeOf(messages.right).toEqualTypeOf<readonly Message[]>()
  })
})
