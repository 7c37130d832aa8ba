/**
 * One bit of a SQLite file is flipped, anywhere in it. A check names the damage, or nothing that is stored has changed;
 * and what is appended afterwards and acknowledged can be read again.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { assistant, createSession, faultMessage, forkSession, toolCall, toolResult, user, type Fault } from 'indelible'
import type { StoredRow } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { ok } from '../task-results.ts'
import { rounds } from '../rounds.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-flips-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const original = join(folder, 'original.db')
const copy = join(folder, 'copy.db')
const sessions = ['a', 'b', 'fork', 'empty']

/** Two sessions with blocks and notes, a fork, an empty one, another scope, kept blocks, and room that a removed one left. */
beforeAll(async () => {
  const store = await ok(sqliteStore({ path: original, durability: 'os' }))
  for (const id of ['gone', 'a', 'b']) {
    const session = await ok(createSession(store, { id, metadata: { title: `The session ${id}`, user: 'ada' } }))
    for (let turn = 0; turn < (id === 'gone' ? 3 : 12); turn++) {
      await ok(
        session.append(
          [
            user(`${id} ${turn} `.repeat(turn % 4 === 0 ? 3000 : 20)),
            assistant(toolCall(`c${turn}`, 'f', { turn })),
            toolResult(`c${turn}`, 'done'),
          ],
          {
            operation: `${id}-${turn}`,
          },
        ),
      )
      if (turn % 5 === 0) await ok(session.note({ type: 'pin', position: turn }))
    }
  }
  await ok(forkSession(store, 'a', { id: 'fork', at: 20, metadata: {} }))
  await ok(createSession(store, { id: 'empty' }))
  await ok(store.putBlocks([new Uint8Array(20_000).fill(7), new Uint8Array(10)]))
  await ok(store.remove('gone'))
  const other = store.scoped('another')
  if (isLeft(other)) throw new Error(faultMessage(other.left))
  await ok(other.right.create({ id: 'log', meta: { kept: true }, encrypt: false }))
  await ok(store.close())
})

/** Everything that is stored, as SQL gives it. What is only a counter for new keys is not. */
const contentOf = (path: string): string => {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return ['scope', 'segment', 'log', 'row', 'operation', 'block', 'content', 'mention']
      .map((table) => {
        const statement = db.prepare(`select * from ${table} not indexed`)
        statement.setReadBigInts(true)
        return JSON.stringify(statement.all(), (_key, value: unknown) =>
          typeof value === 'bigint'
            ? `${value}n`
            : value instanceof Uint8Array
              ? Buffer.from(value).toString('hex')
              : value,
        )
      })
      .join('\n')
  } finally {
    db.close()
  }
}

type Outcome = 'refused' | 'found' | 'harmless' | 'UNDETECTED'

const outcomeOf = async (path: string, content: string): Promise<Outcome> => {
  const opened = await sqliteStore({ path, durability: 'os' })()
  if (isLeft(opened)) return 'refused'
  const findings = await opened.right.check()()
  await ok(opened.right.close())
  if (isLeft(findings) || findings.right.length > 0) return 'found'
  return contentOf(path) === content ? 'harmless' : 'UNDETECTED'
}

/** Appends to every log; those that were acknowledged must be there, each by its position, for who opens the file next. */
const lostAppends = async (path: string): Promise<readonly string[]> => {
  const acknowledged: { readonly id: string; readonly at: number; readonly body: string }[] = []
  for (const round of [1, 2]) {
    const opened = await sqliteStore({ path, durability: 'os' })()
    if (isLeft(opened)) break
    for (const id of sessions) {
      const info = await opened.right.info(id)()
      if (isLeft(info)) continue
      const body = `appended to ${id}, ${round} ${'x'.repeat(round * 3000)}`
      const appended = await opened.right.append(id, { expected: info.right.head, rows: [{ kind: 'entry', body }] })()
      if (!isLeft(appended)) acknowledged.push({ id, at: appended.right.from, body })
    }
    await opened.right.close()()
  }
  const opened = await sqliteStore({ path, durability: 'os' })()
  const lost: string[] = []
  for (const { id, at, body } of acknowledged) {
    const read: Either<Fault, readonly StoredRow[]> = isLeft(opened)
      ? opened
      : await opened.right.read(id, { from: at, to: at + 1 })()
    if (isLeft(read)) lost.push(`${id} at ${at}: ${faultMessage(read.left)}`)
    else if (read.right[0]?.body !== body) lost.push(`${id} at ${at}: ${read.right.length} rows, another body`)
  }
  if (!isLeft(opened)) await opened.right.close()()
  return lost
}

/** Numbers that are the same in every run: mulberry32. */
const numbers =
  (seed: number) =>
  (below: number): number => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }

const flips = rounds(15, 1000)

it(`${flips} flipped bits are each detected or harmless, and lose no append`, async () => {
  const bytes = readFileSync(original)
  const content = contentOf(original)
  expect(await outcomeOf(original, content)).toBe('harmless')
  const next = numbers(Number(process.env['INDELIBLE_SEED']) || 13)
  const outcomes: Record<Outcome, number> = { refused: 0, found: 0, harmless: 0, UNDETECTED: 0 }
  const wrong: string[] = []
  let lostIn = 0
  for (let flip = 0; flip < flips; flip++) {
    const bit = next(bytes.length * 8)
    const changed = Buffer.from(bytes)
    changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
    writeFileSync(copy, changed)
    for (const end of ['-wal', '-shm']) rmSync(copy + end, { force: true })
    const outcome = await outcomeOf(copy, content)
    outcomes[outcome] += 1
    if (outcome === 'UNDETECTED') wrong.push(`bit ${bit}: not found`)
    copyFileSync(copy, `${copy}.checked`)
    const lost = await lostAppends(copy)
    if (lost.length > 0) lostIn += 1
    for (const each of lost) wrong.push(`bit ${bit} (${outcome}): ${each}`)
  }
  process.stdout.write(
    `${flips} bits of ${bytes.length} bytes flipped: ${JSON.stringify(outcomes)}, ${lostIn} with lost appends\n`,
  )
  expect(wrong).toEqual([])
})
