/** What is between a run and the reader of its events: the queue, and the answer as far as it has come. */
import { describe, expect, it } from 'vitest'
import { assistant } from 'indelible'
import { Channel } from '../../src/run/loop/channel.ts'
import { PartialAnswer } from '../../src/run/loop/partial.ts'

describe('the queue between a run and the reader of its events', () => {
  const queue = (bound: number): { readonly channel: Channel<number>; readonly left: () => number } => {
    let left = 0
    return { channel: new Channel<number>(bound, () => void (left += 1)), left: () => left }
  }
  /** What a promise has come to by now. */
  const now = async <T>(promise: Promise<T>): Promise<T | 'waits'> => {
    await new Promise((resolve) => setTimeout(resolve, 0))
    return Promise.race([promise, Promise.resolve('waits' as const)])
  }

  it('without a reader drops beyond its bound what may be missed, and keeps the rest', async () => {
    const { channel, left } = queue(2)
    expect(await Promise.all([1, 2, 3].map((value) => channel.push(value, true)))).toEqual([true, true, false])
    expect(await Promise.all([4, 5].map((value) => channel.push(value, false)))).toEqual([true, true])
    channel.close()
    expect(await channel.push(6, false)).toBe(false)
    const read: number[] = []
    for await (const value of channel) read.push(value)
    expect([read, left()]).toEqual([[1, 2, 4, 5], 0])
    expect(() => channel[Symbol.asyncIterator]()).toThrow('can be read only once')
  })
  it('makes its writer wait for a slow reader until there is room, and drops nothing', async () => {
    const { channel } = queue(1)
    const events = channel[Symbol.asyncIterator]()
    expect(await channel.push(1, true)).toBe(true)
    const second = channel.push(2, true)
    expect(await now(second)).toBe('waits')
    expect(await events.next()).toEqual({ done: false, value: 1 })
    expect(await now(second)).toBe(true)
    const third = channel.push(3, true)
    expect(await now(third)).toBe('waits')
    channel.release()
    expect(await now(third)).toBe(true)
  })
  it('hands a value to a waiting reader, and ends one that waits', async () => {
    const { channel } = queue(0)
    const events = channel[Symbol.asyncIterator]()
    const first = events.next()
    expect(await now(first)).toBe('waits')
    expect(await channel.push(1, true)).toBe(true)
    expect(await first).toEqual({ done: false, value: 1 })
    const last = events.next()
    channel.close()
    expect(await last).toEqual({ done: true, value: undefined })
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })
  it('says once that a reader has stopped, unless all was over', async () => {
    const { channel, left } = queue(0)
    const events = channel[Symbol.asyncIterator]()
    const waiting = channel.push(1, true)
    expect(await events.return?.()).toEqual({ done: true, value: undefined })
    expect([await now(waiting), left()]).toEqual([true, 1])
    const other = queue(0)
    const all = other.channel[Symbol.asyncIterator]()
    other.channel.close()
    await all.return?.()
    expect(other.left()).toBe(0)
  })
})

describe('an answer so far', () => {
  const start = (index: number, block: 'text' | 'reasoning') => ({ type: 'block_start', index, block }) as const
  const part = (answer: PartialAnswer): unknown => answer.message('savePartial')?.content

  it('has complete parts and the text so far, in the order of their blocks', () => {
    const answer = new PartialAnswer()
    expect([answer.text, answer.message('savePartial'), answer.message('discard')]).toEqual(['', undefined, undefined])
    answer.take(start(1, 'text'))
    answer.take({ type: 'text_delta', index: 1, block: 'text', text: 'so ' })
    answer.take({ type: 'text_delta', index: 1, block: 'text', text: 'far' })
    answer.take({ type: 'reasoning_delta', index: 0, block: 'reasoning', text: 'h' })
    answer.take({ type: 'text_delta', index: 3, block: 'refusal', text: 'no' })
    expect([answer.text, part(answer)]).toEqual(['so far', assistant('so far').content])
    const thought = { type: 'reasoning', text: 'hm' } as const
    answer.take({ type: 'block_end', index: 0, block: 'reasoning', part: thought })
    answer.take({ type: 'block_end', index: 1, block: 'text', part: { type: 'text', text: 'so far.' } })
    answer.take({ type: 'text_delta', index: 2, block: 'text', text: ' And' })
    expect([answer.text, part(answer)]).toEqual(['so far. And', assistant(thought, 'so far.', ' And').content])
    expect(answer.message('saveMarked')).toMatchObject({ meta: { indelible: { interrupted: true } } })
    expect([answer.message('discard'), answer.message('savePartial')?.meta]).toEqual([undefined, undefined])
  })
})
