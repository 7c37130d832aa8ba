/**
 * SIGKILL of a process that runs two real tools against a streaming provider on loopback, at any moment. Once, 200 times at
 * full size with each provider in turn; soak.test.ts kills agents of the others.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRight } from 'fp-ts/lib/Either.js'
import { afterAll, expect, it } from 'vitest'
import { createSession, openSession, settle, toolCallsOf, verifySession, type Message } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { refusal } from '../codecs/judges/anthropic.ts'
import { judgeChat, judgeResponses } from '../codecs/judges/openai.ts'
import { providerServer } from './provider-server.ts'
import { providers } from './soak-turns.ts'
import { anthropicEvents, chatEvents, responsesEvents } from './wire.ts'
import { rounds } from '../rounds.ts'
import { program } from '../programs.ts'
import { pending } from '../../src/session/index.ts'

const kills = rounds(1, 200)
const folder = mkdtempSync(join(tmpdir(), 'indelible-kills-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const judges = { anthropic: refusal, chat: judgeChat, responses: judgeResponses }
const events = { anthropic: anthropicEvents, chat: chatEvents, responses: responsesEvents }

/** A small generator with a seed, so that what went wrong can be seen again. */
const random = (seed: number): ((below: number) => number) => {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

it(`${kills} processes killed during tools and answers: each input is recorded once`, async () => {
  const pick = random(11)
  let ids = 0
  for (const [index, provider] of providers.slice(0, kills).entries()) {
    const refused: unknown[] = []
    let answers = 0
    const { url, close } = await providerServer(({ body }) => {
      const wrong = judges[provider](body)
      if (wrong !== undefined) {
        refused.push(wrong)
        return { status: 400, body: { error: { message: JSON.stringify(wrong), type: 'invalid_request_error' } } }
      }
      ids += 1
      const calls =
        answers++ % 3 === 2
          ? []
          : [
              { id: `call_${ids}_a`, name: 'charge', args: `{"n":${ids}}` },
              { id: `call_${ids}_b`, name: 'mail', args: `{"m":${ids}}` },
            ]
      return {
        events: events[provider]({ text: `Answer number ${ids}, which takes a while to say.`, calls }),
        pieces: 40 + pick(80),
        pause: 1,
      }
    })
    const path = join(folder, `${provider}.db`)
    const ledger = join(folder, `${provider}.ledger`)
    const first = await sqliteStore({ path })
    await createSession(first, { id: 's' })
    await first.close()
    const told: [string, string][] = []
    for (let round = index; round < kills; round += providers.length) {
      const child = spawn(process.execPath, [program('test/run/kills-agent.ts'), path, 's', provider, url, ledger], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const after = 1 + pick(14)
      let heard = 0
      let output = ''
      child.stdout.on('data', (data: Buffer) => {
        output += data.toString()
        const before = heard
        heard = output.split('\n').length - 1
        if (before < after && heard >= after) setTimeout(() => child.kill('SIGKILL'), pick(30))
      })
      expect(await new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)))).toBe('SIGKILL')
      told.push(
        ...output
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as [string, string]),
      )

      const store = await sqliteStore({ path, wait: 30_000 })
      const session = await openSession(store, 's')
      while (
        pending(session).steps.length > 0 &&
        pending(session).messages.length === 0 &&
        (await store.leaseOf(session.id)) !== undefined
      ) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        await session.refresh()
      }
      await session.refresh()
      const all: readonly Message[] = [...session.view().toArray(), ...pending(session).messages]
      expect(isRight(settle(all))).toBe(true)
      const parts = all.flatMap(({ content }) => content)
      for (const [what, value] of told) {
        const found = parts.filter((part) =>
          what === 'text'
            ? part.type === 'text' && part.text === value
            : what === 'call'
              ? part.type === 'tool_call' && part.arguments === value
              : part.type === 'tool_result' && part.callId === value,
        )
        expect([provider, what, value, found.length]).toEqual([provider, what, value, 1])
      }
      // Whatever a tool did to the world is there as a result, or as a call that may have had effects.
      const charged = existsSync(ledger) ? readFileSync(ledger, 'utf8').trim().split('\n').filter(Boolean) : []
      expect(new Set(charged).size).toBe(charged.length)
      for (const id of charged) {
        const result = JSON.stringify(parts.find((part) => part.type === 'tool_result' && part.callId === id))
        expect(result).toMatch(/charged, receipt of|may have had side effects/)
      }
      const calls = all.flatMap((message) => toolCallsOf(message)).map(({ id }) => id)
      expect(new Set(calls).size).toBe(calls.length)
      expect(isRight(await verifySession(store, 's')())).toBe(true)
      await store.close()
    }
    expect([provider, refused]).toEqual([provider, []])
    await close()
  }
})
