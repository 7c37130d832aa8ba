/**
 * Processes that take turns on one session, some of which are killed and started again. At full size eight of them, 200 kills
 * for each store and each way to wait.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { isRight } from 'fp-ts/lib/Either.js'
import { afterAll, expect, it } from 'vitest'
import { createSession, openSession, settle, textOf, verifySession } from 'indelible'
import { openAt } from '../session/open-at.ts'
import { startPostgres } from '../../packages/postgres/test/postgres-server.ts'
import { isFull, rounds } from '../rounds.ts'
import { program } from '../programs.ts'
import { pending } from '../../src/session/index.ts'

const [processes, turns] = [isFull ? 8 : 2, rounds(3, 60)]
const kills = isFull ? 200 : Math.ceil(turns / 3)
const folder = mkdtempSync(join(tmpdir(), 'indelible-turns-'))
const server = isFull ? await startPostgres() : undefined
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const pathOf = (place: string, whenBusy: string): string =>
  place === 'SQLite' ? join(folder, `${whenBusy}.db`) : `${server?.url}?schema=turns%20${whenBusy}%20${process.pid}`

const cases = (server === undefined ? ['SQLite'] : ['SQLite', 'PostgreSQL']).flatMap((place) => [
  [place, 'wait'],
  [place, 'queue'],
]) as readonly (readonly [string, string])[]

it.each(cases)(
  `${processes} processes with ${turns} turns each, ${kills} of them killed (%s, %s): every input is answered once, in order`,
  async (place, whenBusy) => {
    const path = pathOf(place, whenBusy)
    const store = await openAt(path)
    await (await createSession(store, { id: 's' })).close()
    let toKill = kills
    let answered = 0
    const taking = async (name: string): Promise<void> => {
      let from = 0
      for (;;) {
        const child = spawn(
          process.execPath,
          [program('test/run/turns-process.ts'), path, 's', name, whenBusy, String(turns), String(from)],
          {
            stdio: ['ignore', 'pipe', 'inherit'],
          },
        )
        let isDying = false
        createInterface(child.stdout).on('line', (line) => {
          // It is started again with the turn before the last one: that has its answer.
          const isNew = Number(line) > from
          from = Math.max(from, Number(line))
          // One of those that have just got something done, so that others wait for it.
          if (isDying || toKill === 0 || (isFull ? !isNew : answered++ % 3 !== 1)) return
          isDying = true
          toKill -= 1
          setTimeout(() => child.kill('SIGKILL'), answered++ % 61)
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
    // oxlint-disable-next-line no-console -- figures of the soak
    if (isFull) console.log({ place, whenBusy, kills, turns: processes * turns })
    const messages = session.conversation().toArray()
    const inputs = messages.filter(({ role }) => role === 'user').map(textOf)
    expect(inputs.toSorted()).toEqual(
      names.flatMap((name) => Array.from({ length: turns }, (_, index) => `${name} ${index}`)).toSorted(),
    )
    for (const name of names)
      expect(inputs.filter((input) => input.startsWith(`${name} `))).toEqual(
        Array.from({ length: turns }, (_, index) => `${name} ${index}`),
      )
    const answers = messages
      .filter(({ role, content }) => role === 'assistant' && content[0]?.type === 'text')
      .map(textOf)
    expect(answers).toEqual(inputs.map((input) => `re: ${input}`))
    expect([isRight(settle(messages)), pending(session).steps]).toEqual([true, []])
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
