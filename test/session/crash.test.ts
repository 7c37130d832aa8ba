/** Crashes: processes that are killed at random moments, and a power cut after any byte. What was acknowledged is there. */
import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { createSession, openSession, user, verifySession, type Message, type Session, type Store } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { ok } from '../task-results.ts'
import { batchOf, editOf } from './batches.ts'
import { isFull, rounds } from '../rounds.ts'
import { program } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-crash-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const kills = rounds(3, 1000)
const editKills = rounds(2, 100)
const lanes = 4
/** One in so many dies before an append is acknowledged. */
const oneEarlyIn = isFull ? 5 : 3

const openStore = async (path: string): Promise<{ store: Store; session: Session }> => {
  const store = await ok(sqliteStore({ path }))
  return { store, session: await ok(openSession(store, 's')) }
}

/** Start a process that appends, and kill it. Gives the batches that it has acknowledged. */
const killed = (path: string, round: string, number: number, mode = 'append'): Promise<readonly number[]> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program('test/session/writer-process.ts'), mode, path, 's', round], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
    })
    const acknowledged: number[] = []
    let output = ''
    const killSoon = (within: number): void => void setTimeout(() => child.kill('SIGKILL'), Math.random() * within)
    // Most die while they write, however slow the machine is; some before their first append is acknowledged, and a few
    // before they have opened the session.
    const early = number % 20 === 19 ? setTimeout(() => child.kill('SIGKILL'), Math.random() * 150) : undefined
    createInterface(child.stdout).on('line', (line) => {
      if (line !== 'ready') acknowledged.push(Number(line.split(' ')[1]))
      if (line === 'ready' ? number % oneEarlyIn === oneEarlyIn - 1 : acknowledged.length === 1) killSoon(40)
    })
    child.stderr.on('data', (text: Buffer) => (output += text.toString()))
    child.on('close', (_code, signal) => {
      clearTimeout(early)
      if (signal === 'SIGKILL') resolve(acknowledged)
      else reject(new Error(`the process ended by itself: ${output}`))
    })
  })

/** The record must be rounds of whole batches, in order, once each, none of those acknowledged missing. */
const checkRecord = (messages: readonly unknown[], rounds: ReadonlyMap<string, readonly number[]>): void => {
  let at = 0
  for (const [round, acknowledged] of rounds) {
    let batches = 0
    for (
      let batch = batchOf(round, 0);
      at < messages.length && JSON.stringify(messages[at]) === JSON.stringify(batch[0]);
      batch = batchOf(round, ++batches)
    ) {
      expect(messages.slice(at, at + batch.length)).toEqual(batch)
      at += batch.length
    }
    expect(batches).toBeGreaterThan(Math.max(-1, ...acknowledged))
    expect(messages[at++]).toEqual(after(round))
  }
  expect(at).toBe(messages.length)
}

const after = (round: string): Message => user(`after ${round}`)

it(`${kills} processes killed at random moments: all acknowledged messages exist, in order, once`, async () => {
  let total = 0
  const lane = async (number: number): Promise<void> => {
    const rounds = new Map<string, readonly number[]>()
    let path = ''
    for (let kill = number; kill < kills; kill += lanes) {
      if (rounds.size % 10 === 0) {
        // A new file now and then: what is checked after each kill is the whole record.
        rounds.clear()
        path = join(folder, `killed-${kill}.db`)
        const store = await ok(sqliteStore({ path }))
        await ok(createSession(store, { id: 's' }))
        await ok(store.close())
      }
      const round = `round ${kill}`
      const acknowledged = await killed(path, round, kill)
      total += acknowledged.length
      rounds.set(round, acknowledged)
      const { store, session } = await openStore(path)
      const { head } = await ok(verifySession(store, 's'))
      expect(session.head()).toEqual(head)
      await ok(session.append(after(round)))
      checkRecord(session.view().toArray(), rounds)
      await ok(store.close())
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
  expect(total).toBeGreaterThan(kills / 2) // most had an acknowledgement before they were killed
})

it(`${editKills} processes killed during pop, rewind, replace and clear: each was applied completely or not at all`, async () => {
  let total = 0
  const lane = async (number: number): Promise<void> => {
    const path = join(mkdtempSync(join(folder, 'edited-')), 'a.db') // anew if it is tried again
    const store = await ok(sqliteStore({ path }))
    await ok(createSession(store, { id: 's' }))
    await ok(store.close())
    let messages: readonly Message[] = []
    let record = 0
    for (let kill = number; kill < editKills; kill += lanes) {
      const round = `round ${kill}`
      const acknowledged = await killed(path, round, kill, 'edit')
      total += acknowledged.length
      const { store, session } = await openStore(path)
      await ok(verifySession(store, 's'))
      const found = JSON.stringify(session.conversation())
      let done = acknowledged.length
      for (let n = 0; n < done; n++) messages = editOf(round, n, messages)
      // The last may have been done and not acknowledged; one that changes nothing leaves no trace.
      while (JSON.stringify(messages) !== found && done <= acknowledged.length)
        messages = editOf(round, done++, messages)
      expect(JSON.stringify(messages)).toBe(found)
      expect(session.len).toBeGreaterThanOrEqual(record) // the record only grows
      record = session.len
      await ok(store.close())
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
  expect(total).toBeGreaterThan(0)
})

/** How many bytes of a write-ahead log are frames of its current run: those with the salt of its header. */
const framesEnd = (wal: Buffer): number => {
  if (wal.length < 32) return wal.length
  const size = 24 + wal.readUInt32BE(8)
  let end = 32
  while (end + size <= wal.length && wal.subarray(end + 8, end + 16).equals(wal.subarray(16, 24))) end += size
  return end
}

it('a power loss at any byte after the last acknowledgement loses nothing acknowledged and leaves nothing partial', async () => {
  const path = join(folder, 'power.db')
  const store = await ok(sqliteStore({ path, durability: 'disk' }))
  const session = await ok(createSession(store, { id: 's' }))
  let cuts = 0
  for (let round = 0; round < (isFull ? 9 : 6); round++) {
    // Some rounds are long enough that the log is taken over into the file, and begun anew.
    for (let batch = 0; batch < (round % 4 === 3 ? 250 : 5); batch++)
      await ok(session.append(batchOf(`r${round}`, batch)))
    const acknowledged = session.len
    const before = join(folder, 'before.db')
    for (const end of ['', '-wal']) copyFileSync(path + end, before + end)
    const synced = framesEnd(readFileSync(`${before}-wal`))
    await Promise.all([0, 1, 2].map((batch) => ok(session.append(batchOf(`late ${round}`, batch)))))
    const written = readFileSync(`${path}-wal`)
    const whole = framesEnd(written)
    if (!written.subarray(16, 24).equals(readFileSync(`${before}-wal`).subarray(16, 24))) continue // begun anew just now
    const messages = session.view().toArray()
    for (let cut = 0; cut < rounds(2, 40); cut++) {
      const cutPath = join(folder, `cut-${round}-${cut}.db`)
      copyFileSync(before, cutPath)
      // The bytes behind the last that was synced came to the disk in part, or as something else.
      const kept = synced + Math.floor(Math.random() * (whole - synced + 1))
      writeFileSync(
        `${cutPath}-wal`,
        cut % 2 === 0
          ? written.subarray(0, kept)
          : Buffer.concat([written.subarray(0, kept), Buffer.alloc(whole - kept, cut)]),
      )
      const restarted = await openStore(cutPath)
      const found = restarted.session.view().toArray()
      expect(found.length).toBeGreaterThanOrEqual(acknowledged)
      expect(found).toEqual(messages.slice(0, found.length))
      expect([0, 1, 3, 6]).toContain(found.length - acknowledged)
      await ok(verifySession(restarted.store, 's', { head: (await ok(verifySession(restarted.store, 's'))).head }))
      await ok(restarted.session.append(user('on')))
      await ok(restarted.store.close())
      cuts += 1
    }
  }
  expect(cuts).toBeGreaterThan(rounds(5, 200))
  await ok(store.close())
})
