/**
 * Random runs against providers that refuse what the real ones refuse: parallel tools, failures, interrupts, cancels,
 * limits, broken streams, on durable sessions, and processes that are killed. 2,000 at full size.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterAll, expect, it } from 'vitest'
import { settle, toolCallsOf } from 'indelible'
import { verifySession } from 'indelible/session'
import type { Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { judgeChat, judgeResponses } from '../codecs/judges/openai.ts'
import { refusal } from '../codecs/judges/anthropic.ts'
import { providerServer, type Reply } from './provider-server.ts'
import { done, modelOf, providers, ready, turn, type Provider } from './soak-turns.ts'
import { program } from '../programs.ts'
import { anthropicEvents, chatEvents, responsesEvents, type Answer } from './wire.ts'
import { isShort, rounds } from '../rounds.ts'

const runs = rounds(24, 2000)
const folder = mkdtempSync(join(tmpdir(), 'indelible-soak-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A small generator with a seed, so that what went wrong can be seen again. */
const random = (seed: number): ((below: number) => number) => {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const judges: { readonly [name in Provider]: (body: unknown) => unknown } = {
  anthropic: refusal,
  chat: judgeChat,
  responses: judgeResponses,
}
const events = { anthropic: anthropicEvents, chat: chatEvents, responses: responsesEvents }

const playing = async (
  provider: Provider,
  pick: (below: number) => number,
): Promise<{ readonly url: string; readonly refused: string[]; readonly close: () => Promise<void> }> => {
  const refused: string[] = []
  let ids = 0
  const answer = (): Answer => {
    const calls = Array.from({ length: [0, 0, 0, 1, 1, 2, 4][pick(7)] ?? 0 }, () => ({
      id: pick(5) === 0 ? 'call_same' : `call_${ids++}`,
      name: ['quick', 'slow', 'fails', 'hangs', 'unknown'][pick(5)] ?? 'quick',
      args: ['{}', '{"a": [1, "🙂"]}', '{"a": 1'][pick(8) < 7 ? pick(2) : 2] ?? '{}',
    })).filter(({ id }, index, all) => all.findIndex((call) => call.id === id) === index)
    const text =
      ['', 'Let me see. ', 'I say something of some length, so that there is time to interrupt it. 🙂🙂'][pick(3)] ?? ''
    return { text: text === '' && calls.length === 0 ? 'Done.' : text, calls }
  }
  const server = await providerServer(({ body }): Reply => {
    const wrong = judges[provider](body)
    if (wrong !== undefined) {
      refused.push(JSON.stringify(wrong))
      return { status: 400, body: { error: { message: JSON.stringify(wrong), type: 'invalid_request_error' } } }
    }
    const said = events[provider](answer())
    switch (pick(14)) {
      case 0:
        return { status: 529, body: { error: { message: 'overloaded', type: 'overloaded_error' } } }
      case 1:
        return { events: said, cutAfter: pick(said.join('').length), broken: pick(2) === 0 }
      case 2:
        return { events: said, pieces: 1 + pick(60), pause: 1 }
      default:
        return { events: said }
    }
  })
  return { url: server.url, refused, close: server.close }
}

const checked = async (store: Store, id: string): Promise<number> => {
  const session = await ready(store, id)
  expect(isRight(settle(session.view()))).toBe(true)
  const ids = session
    .view()
    .toArray()
    .flatMap((message) => toolCallsOf(message))
    .map((call) => call.id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(isRight(await verifySession(store, id)())).toBe(true)
  return session.len
}

it(`${runs} random runs: no request is refused, nothing is lost or doubled`, async () => {
  const store = await done(sqliteStore({ path: join(folder, 'soak.db'), durability: 'os' }))
  const outcomes = new Map<string, number>()
  for (const [index, provider] of providers.entries()) {
    const pick = random(index + 1)
    const { url, refused, close } = await playing(provider, pick)
    const model = modelOf(provider, url)
    for (let count = 0; count < runs / providers.length; count++) {
      const id = `${provider} ${count % 5}`
      const session = await ready(store, id)
      const stream = await turn(session, model, `question ${count}`)
      const deed = pick(4)
      const at = pick(25)
      let told = 0
      for await (const event of stream) {
        told += 1
        if (told === at && deed === 1)
          stream.interrupt({
            behavior: (['discard', 'savePartial', 'saveMarked'] as const)[pick(3)] ?? 'discard',
            ...(pick(2) === 0 && { message: 'instead' }),
          })
        if (told === at && deed === 2) stream.cancel()
        if (event.type === 'run_complete') expect(event.result.messages).toEqual(session.view().toArray())
      }
      const ended = await stream.result()()
      const outcome = isLeft(ended) ? ended.left._tag : ended.right.stopReason
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      await done(session.close())
    }
    expect([provider, refused]).toEqual([provider, []])
    for (let index = 0; index < 5; index++) await checked(store, `${provider} ${index}`)
    await close()
  }
  for (const outcome of ['end_turn', 'cancelled', 'ModelFailed', ...(runs >= 80 ? ['max_steps'] : [])])
    expect([outcome, (outcomes.get(outcome) ?? 0) > 0]).toEqual([outcome, true])
  await done(store.close())
})

it('processes killed during runs: acknowledged rows exist once, and the next process continues', async () => {
  const path = join(folder, 'killed.db')
  const pick = random(7)
  const child = program('test/run/soak-agent.ts')
  // Those whose agents kills.test.ts does not kill in a short run.
  for (const provider of isShort ? providers.slice(1) : providers) {
    const { url, refused, close } = await playing(provider, pick)
    let acknowledged = 0
    for (let round = 0; round < rounds(1, 10); round++) {
      const killed = spawn(process.execPath, [child, path, provider, provider, url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = new Promise((resolve) => killed.on('exit', resolve))
      const giveUp = setTimeout(() => killed.kill('SIGKILL'), 300_000) // it hangs
      let heard = 0
      killed.stdout.on('data', (data: Buffer) => {
        const lines = data.toString().trim().split('\n')
        acknowledged = Number(lines.at(-1))
        // Somewhere in one of the next steps.
        if (heard === 0) setTimeout(() => killed.kill('SIGKILL'), pick(120))
        heard += lines.length
      })
      await ended
      clearTimeout(giveUp)
      expect(heard).toBeGreaterThan(0)
      const store = await done(sqliteStore({ path, wait: 30_000 }))
      expect(await checked(store, provider)).toBeGreaterThanOrEqual(acknowledged)
      await done(store.close())
    }
    expect([provider, refused]).toEqual([provider, []])
    await close()
  }
})
