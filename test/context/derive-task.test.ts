/** Asynchronous policies and tokenizers give the contexts that synchronous ones give. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, system, toolCall, toolResult, user, type Message } from 'indelible'
import { deriveContext, deriveContextAsync, paged, window, type DerivedContext } from 'indelible/context'

const history = createHistory<Message>({
  from: [
    system('You fix bugs.'),
    user('Fix the build.'),
    ...Array.from({ length: 60 }, (_, step) => [
      assistant('Looking.', toolCall(`c${step}`, 'read', { path: `src/${step}.ts` })),
      toolResult(`c${step}`, `export const value${step} = ${step}\n`.repeat(20 + (step % 7) * 10)),
    ]).flat(),
  ],
})
const count = (text: string): number => Math.ceil(text.length / 3)

describe('deriveContextAsync', () => {
  it('gives what deriveContext gives, call after call, and counts each text once', async () => {
    const texts: string[] = []
    const tokenizer = async (text: string): Promise<number> => (texts.push(text), await wait(0), count(text))
    let previous: DerivedContext | undefined
    let before: DerivedContext | undefined
    for (let length = 2; length <= history.len; length += 30) {
      const view = history.view().slice(0, length)
      previous = await deriveContextAsync(view, { budget: 3000, tokenizer, previous })
      const same = deriveContext(view, { budget: 3000, tokenizer: count, previous: before })
      if (isLeft(same)) throw new Error(same.left._tag)
      before = same.right
      expect(previous.messages.toArray()).toEqual(before.messages.toArray())
      expect([previous.tokens, previous.epoch, previous.stablePrefix]).toEqual([
        before.tokens,
        before.epoch,
        before.stablePrefix,
      ])
    }
    expect(new Set(texts).size).toBe(texts.length)
  })
  it('takes a policy that asks somebody', async () => {
    let asked = 0
    const slow = {
      name: 'slow',
      choose: 'always' as const,
      select: async (selection: Parameters<typeof window.select>[0]) => (
        (asked += 1),
        await wait(1),
        window.select(selection)
      ),
    }
    const context = await deriveContextAsync(history.view(), { budget: 3000, policy: slow })
    const same = deriveContext(history.view(), { budget: 3000, policy: window })
    expect(!isLeft(same) && same.right.messages.toArray()).toEqual(context.messages.toArray())
    expect(asked).toBeGreaterThan(0)
    const before = asked
    await deriveContextAsync(history.view(), { budget: 3000, policy: slow })
    expect(asked).toBe(before) // it is remembered
  })
  it('takes the synchronous ones, too', async () => {
    const context = await deriveContextAsync(history.view(), { budget: 3000, policy: paged, tokenizer: count })
    const same = deriveContext(history.view(), { budget: 3000, tokenizer: count })
    expect(!isLeft(same) && same.right.digest).toBe(context.digest)
  })
  it('says which function failed, and what does not fit', async () => {
    const failing = async (): Promise<number> => Promise.reject(new Error('no network'))
    const failed = await deriveContextAsync(history.view(), { budget: 3000, tokenizer: failing })()
    expect(failed).toMatchObject({ left: { _tag: 'CallbackThrew', callback: 'tokenizer' } })
    const policy = { name: 'broken', choose: 'always' as const, select: () => Promise.reject(new Error('no model')) }
    const broken = await deriveContextAsync(history.view(), { budget: 3000, policy })()
    expect(broken).toMatchObject({ left: { _tag: 'CallbackThrew', callback: 'policy.select' } })
    expect(await deriveContextAsync(history.view(), { budget: 10 })()).toMatchObject({
      left: { _tag: 'MinimumDoesNotFit' },
    })
    await expect((async () => await deriveContextAsync(history.view(), { budget: 10 }))()).rejects.toThrow(
      'the smallest context that may be sent takes',
    )
    expect(() => deriveContextAsync(history.view(), { budget: NaN })).toThrow('budget is NaN')
  })
})
