/**
 * Processes that take turns on one session, some of which are killed and started again. At full size eight of them,
 * 200 turns.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRight } from 'fp-ts/lib/Either.js'
import { afterAll, expect, it } from 'vitest'
import { createSession, openSession, settle, textOf, verifySession } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { isFull, rounds } from '../rounds.ts'

const [processes, turns, kills] = [isFull ? 8 : 3, rounds(3, 25), rounds(1, 12)]
const folder = mkdtempSync(join(tmpdir(), 'indelible-turns-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it.each(['wait', 'queue'])(
  `${processes} processes take ${turns} turns each, and ${kills} are killed (%s): every input is answered once, in order`,
  async (whenBusy) => {
    const path = join(folder, `${whenBusy}.db`)
    const store = await sqliteStore({ path, wait: 60_000 })
    await (await createSession(store, { id: 's' })).close()
    let toKill = kills
    let answered = 0
    const taking = async (name: string): Promise<void> => {
      for (;;) {
        const child = spawn(
          process.execPath,
          [join(root, 'test/run/turns-process.ts'), path, 's', name, whenBusy, String(turns)],
          {
            stdio: ['ignore', 'pipe', 'inherit'],
          },
        )
        child.stdout.on('data', () => {
          // One of those that have just got something done, so that others wait for it.
          if (toKill > 0 && answered++ % 3 === 1) {
            toKill -= 1
            setTimeout(() => child.kill('SIGKILL'), answered % 13)
          }
        })
        const [code, signal] = await new Promise<readonly [number | null, string | null]>((resolve) =>
          child.on('exit', (...how) => resolve(how)),
        )
        if (signal === 'SIGKILL') continue // another one is started in its place
        expect([name, code]).toEqual([name, 0])
        return
      }
    }
    const names = Array.from({ length: processes }, (_, index) => `p${index}`)
    await Promise.all(names.map(taking))
    expect(toKill).toBe(0)
    const session = await openSession(store, 's')
    const said = session.conversation().toArray()
    const inputs = said.filter(({ role }) => role === 'user').map(textOf)
    expect(inputs.toSorted()).toEqual(
      names.flatMap((name) => Array.from({ length: turns }, (_, index) => `${name} ${index}`)).toSorted(),
    )
    for (const name of names)
      expect(inputs.filter((input) => input.startsWith(`${name} `))).toEqual(
        Array.from({ length: turns }, (_, index) => `${name} ${index}`),
      )
    const answers = said.filter(({ role, content }) => role === 'assistant' && content[0]?.type === 'text').map(textOf)
    expect(answers).toEqual(inputs.map((input) => `re: ${input}`))
    expect([isRight(settle(said)), session.openSteps()]).toEqual([true, []])
    const notes = [...session.notes()]
    if (whenBusy === 'queue') {
      const queued = notes.flatMap((note) => (note.type === 'input' && note.state === 'queued' ? [note.id] : []))
      expect(inputs.filter((input) => queued.includes(input))).toEqual([...new Set(queued)]) // in the order in which they came
    }
    expect(isRight(await verifySession(store, 's')())).toBe(true)
    await session.close()
    await store.close()
  },
)
