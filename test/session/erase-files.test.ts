/** Erasing in files: any sessions, forks, seals and reopenings; with and without readers; a process that is killed. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { assistant, createSession, forkSession, readSession, user, verifySession, type Message } from 'indelible'
import { verifyLedger } from '@indelible/evidence'
import { checkErasure, checkProof, eraseMessages, proveEntry, type EntryProof } from 'indelible/session'
import type { Head, Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { rounds } from '../rounds.ts'
import { program } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-erase-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let folders = 0
const fresh = (): string => mkdtempSync(join(folder, `${folders++}-`))
const bytesIn = (path: string): Buffer => Buffer.concat(readdirSync(path).map((name) => readFileSync(join(path, name))))

/** Words that nobody else says: every 31 bytes of them tell where they are from. */
const words = (name: string, length: number): string =>
  Array.from({ length: Math.ceil(length / (name.length + 4)) }, (_, index) => `${name}:${index}`).join(' ')

const isTextLeft = (bytes: Buffer, text: string): boolean => {
  for (let start = 0; start + 31 <= text.length; start += 97)
    if (bytes.includes(text.slice(start, start + 31))) return true
  return text.length < 128 && bytes.includes(text)
}

/** What is done, one after the other; numbers pick what it is done to. */
const deeds = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        type: fc.constant('append' as const),
        on: fc.nat(),
        length: fc.integer({ min: 20, max: 6000 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('fork' as const), on: fc.nat(), at: fc.nat() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('journal' as const),
        on: fc.nat(),
        length: fc.integer({ min: 20, max: 3000 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('seal' as const), on: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('summary' as const), on: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('remove' as const), on: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('reopen' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('erase' as const),
        on: fc.nat(),
        at: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        reader: fc.boolean(),
      }),
    },
  ),
  { minLength: 20, maxLength: 50 },
)

interface KnownProof {
  readonly id: string
  readonly texts: string[]
  sealed: boolean
}

it('erased texts are in no file and all other proofs hold, whatever is done before and after', async () => {
  await fc.assert(
    fc.asyncProperty(deeds, fc.boolean(), async (given, erasable) => {
      const path = fresh()
      const open = (): Promise<Store> =>
        Promise.resolve(sqliteStore({ path: join(path, 's.db'), durability: 'os', wait: 0 }))
      let store = await open()
      const sessions: KnownProof[] = []
      const proofs: { readonly text: string; readonly proof: EntryProof; readonly head: Head }[] = []
      const gone = new Set<string>()
      const begin = async (): Promise<KnownProof> => {
        const known: KnownProof = { id: `s${sessions.length}`, texts: [], sealed: false }
        await (await createSession(store, { id: known.id, erasable })).close()
        sessions.push(known)
        return known
      }
      await begin()
      let count = 0
      for (const deed of given) {
        if (deed.type === 'reopen') {
          await store.close()
          store = await open()
          continue
        }
        const on = sessions[deed.on % sessions.length] ?? (await begin())
        const session = await readSession(store, on.id)
        const { len } = session
        if (deed.type === 'erase') {
          const at = [...new Set(len === 0 ? [] : deed.at.map((one) => one % len))]
          const reader = deed.reader ? new DatabaseSync(join(path, 's.db')) : undefined
          reader?.exec('begin')
          reader?.prepare('select count(*) from row').get()
          const first = await eraseMessages(store, on.id, at, { reason: 'asked to' })
          const wasThere = at.some((one) => !gone.has(on.texts[one] ?? ''))
          if (reader !== undefined && wasThere) expect(first.residue).toMatchObject([{ where: 'wal' }])
          reader?.exec('commit')
          reader?.close()
          const receipt = await eraseMessages(store, on.id, at, { reason: 'asked to' })
          expect(receipt.residue).toEqual([])
          // Also of rows that another log had erased, which is removed by now.
          expect(checkErasure(receipt)._tag).toBe(at.length > 0 ? 'Right' : 'Left')
          for (const one of at) gone.add(on.texts[one] as string)
          const bytes = bytesIn(path)
          for (const text of gone)
            expect([text.slice(0, 40), isTextLeft(bytes, text)]).toEqual([text.slice(0, 40), false])
          continue
        }
        if (deed.type === 'fork') {
          const at = len === 0 ? 0 : deed.at % (len + 1)
          const known = { id: `s${count++}f`, texts: on.texts.slice(0, at), sealed: false }
          await (await forkSession(store, on.id, { id: known.id, at })).close()
          sessions.push(known)
          continue
        }
        if (deed.type === 'remove') {
          await store.remove(on.id)
          sessions.splice(sessions.indexOf(on), 1)
          continue
        }
        if (on.sealed) continue
        const writer = await (await import('indelible')).openSession(store, on.id)
        if (deed.type === 'append') {
          const text = words(`m${count++}`, deed.length)
          const message: Message =
            count % 3 === 0 ? user(text) : { ...assistant(text), meta: { indelible: { step: text.slice(0, 9) } } }
          const { head } = await writer.append(message)
          on.texts.push(text)
          proofs.push({ text, head, proof: await proveEntry(store, on.id, on.texts.length - 1) })
        } else if (deed.type === 'journal') {
          // What a run had said of the last answer, before it was recorded.
          const of = on.texts.at(-1)
          if (of !== undefined && !gone.has(of))
            await writer.note({
              type: 'journal',
              step: of.slice(0, 9),
              said: [{ index: 0, text: of.slice(0, deed.length) }],
              closed: true,
            })
        } else if (deed.type === 'summary') {
          const of = on.texts[0]
          if (of !== undefined && !gone.has(of))
            await writer.note({ type: 'summary', from: 0, to: 1, text: `it said ${of}` })
        } else {
          await writer.seal()
          on.sealed = true
        }
        await writer.close()
      }
      for (const { text, proof, head } of proofs)
        expect([text.length, checkProof(proof, head)._tag]).toEqual([text.length, 'Right'])
      for (const { id, texts } of sessions) {
        const verified = await verifySession(store, id)
        expect(verified.erased).toEqual(texts.flatMap((text, at) => (gone.has(text) ? [at] : [])))
      }
      if (gone.size > 0) await verifyLedger(store)
      expect(await store.check()).toEqual([])
      await store.close()
    }),
    { numRuns: rounds(2, 100) },
  )
})

const kills = rounds(1, 300)

it('an erasure killed at any step is complete or has no effect, and can be finished', async () => {
  const path = fresh()
  const template = join(path, 'template.db')
  const texts = Array.from({ length: 12 }, (_, index) => words(`kill${index}`, 300 + index * 700))
  const made = await sqliteStore({ path: template })
  const session = await createSession(made, { id: 's', messages: texts.map((text) => user(text)) })
  await session.note({ type: 'summary', from: 0, to: 4, text: words('summary', 900) })
  const head = session.head()
  await session.close()
  await made.close()
  let died = 0
  const outcomes = new Set<number>()
  for (let round = 0; round < kills; round++) {
    const own = fresh()
    const file = join(own, 's.db')
    copyFileSync(template, file)
    const step = kills < 20 ? [60, 25, 150][round % 3] : 1 + round
    const { signal, stderr } = spawnSync(
      process.execPath,
      [program('test/session/erase-process.ts'), file, String(step), '1', '3', '8'],
      { encoding: 'utf8', env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') } },
    )
    expect(stderr).toBe('')
    if (signal === 'SIGKILL') died += 1
    const store = await sqliteStore({ path: file })
    const { erased } = await verifySession(store, 's', { head })
    expect([[], [1, 3, 8]]).toContainEqual(erased)
    outcomes.add(erased.length)
    const notes = [...(await readSession(store, 's')).notes()].map(({ type }) => type)
    expect(notes).toEqual([erased.length === 0 ? 'summary' : 'erased'])
    expect(await store.check()).toEqual([])
    const receipt = await eraseMessages(store, 's', [1, 3, 8])
    expect([receipt.residue, receipt.rows.length]).toEqual([[], 4])
    const bytes = bytesIn(own)
    for (const at of [1, 3, 8]) expect([at, isTextLeft(bytes, texts[at] as string)]).toEqual([at, false])
    expect(isTextLeft(bytes, words('summary', 900))).toBe(false)
    expect(isTextLeft(bytes, texts[2] as string)).toBe(true)
    await store.close()
    rmSync(own, { recursive: true })
  }
  expect(died).toBeGreaterThan(0)
  if (kills >= 100) expect([...outcomes].toSorted()).toEqual([0, 3])
})
