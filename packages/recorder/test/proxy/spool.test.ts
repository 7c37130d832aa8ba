/** The spool: what is written before it is forwarded, and what becomes of it when its recorder is gone. */
import { spawnSync } from 'node:child_process'
import fs, {
  appendFileSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeEach, expect, it, vi } from 'vitest'
import { listSessions, memoryStore, openSession, textOf, type Message, type Store } from 'indelible'
import { newHostKey } from '@indelible/encryption'
import { createRecorder, detailsOf, type ObservedCall, type Recorder } from '@indelible/recorder'
import {
  decompress,
  FrameReader,
  Frames,
  framesIn,
  isSpooledBefore,
  replayLeftSpools,
  failedSuffix,
  Spool,
  type Segment,
  type SpoolOptions,
} from '../../src/proxy/internal.ts'
import { left } from '../../../../src/json/index.ts'
import { jsonBytes, kinds, recordOf } from '../../src/proxy/frames.ts'
import { leftSpools } from '../../src/proxy/spool.ts'
import { sessionTask } from '../../../../src/session/fault.ts'
import { ok } from '../../../../test/task-results.ts'
import { leftOutIf } from '../../../../test/skipped-tests.ts'
import { smallDisk } from '../../../../test/small-disk.ts'

const root = mkdtempSync(join(tmpdir(), 'indelible-spool-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let near: string
let notices: string[]
let folders = 0
beforeEach(() => {
  near = join(mkdtempSync(join(root, `${folders++}-`)), 's.db')
  notices = []
})

const files = (): readonly string[] => readdirSync(join(near, '..')).filter((name) => !name.endsWith('.lock'))
const openTestSpool = (options: Partial<SpoolOptions> = {}): Spool =>
  new Spool({ near, onNotice: (reason) => notices.push(reason), ...options })
const request = { method: 'POST', url: 'http://me:pass@x/chat/completions?key=hidden' }
const headers: { readonly [name: string]: string } = { authorization: 'Bearer hidden', 'x-other': 'hidden' }
const observed = (frames: Frames, question: string): ObservedCall => {
  const call = frames.observe('default', { ...request, header: (name) => headers[name] })
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: question }] })
  call.piece(Buffer.from(body.slice(0, 10)))
  call.piece(Buffer.from(body.slice(10)))
  call.sent()
  return call
}
const json = JSON.stringify({
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'heard' } }],
})
const answer = (call: ObservedCall, body: string | Uint8Array = json, encoding?: string): void => {
  call.answered(200, (name) => (name === 'content-encoding' ? encoding : 'application/json'))
  call.chunk(Buffer.from(body))
}
/** Frames that a worker never takes, and the spool as a kill leaves it. */
const untaken = (spool: Spool): Frames => new Frames({ spool, post: () => undefined })

/** What the next recorder records of what is left. */
const replayed = async (store: Store, keys?: SpoolOptions['keys']) => {
  let now: () => number = Date.now
  const recorder: Recorder = createRecorder({ store, decompress, now: () => now() })
  const calls = await replayLeftSpools({
    near,
    keys,
    storeOf: () => store,
    recorderOf: (_, clock) => {
      now = clock
      return recorder
    },
    onNotice: (reason) => notices.push(reason),
  })
  await recorder.settled()
  return { calls, summary: recorder.summary() }
}
const recordedIn = async (store: Store): Promise<readonly (readonly string[])[]> => {
  const { sessions } = await ok(listSessions(store, { limit: 100 }))
  const all: (readonly string[])[] = []
  for (const { id } of sessions) {
    const session = await ok(openSession(store, id))
    const output = [...session.conversation()].map((message) => textOf(message as Message))
    const details = [...session.notes()].map((note) => (note.type === 'receipt' ? detailsOf(note, session) : undefined))
    all.push([...output, ...details.flatMap((detail) => (detail?.error === undefined ? [] : [detail.error]))])
  }
  return all.toSorted()
}

it('each piece is spooled before it can be forwarded, readable only by its owner', () => {
  const spool = openTestSpool()
  const frames = untaken(spool)
  const call = frames.observe('default', { ...request, header: (name) => headers[name] })
  call.piece(Buffer.from('the first piece'))
  const [file = ''] = files()
  const path = join(near, '..', file)
  expect(readFileSync(path, 'latin1')).toContain('the first piece')
  answer(call)
  expect(readFileSync(path, 'latin1')).toContain('heard')
  expect(readFileSync(path, 'latin1')).not.toMatch(/hidden|pass/) // no credentials, no other header, no query
  expect(statSync(path).mode & 0o777).toBe(0o600)
  spool.close()
})

it('a killed recorder leaves the folder of its program, and the session gets it, whoever records the call', async () => {
  const spool = openTestSpool()
  const frames = new Frames({ spool, folder: '/srv/api', post: () => undefined })
  answer(observed(frames, 'one'))
  spool.close()
  const store = memoryStore()
  expect((await replayed(store)).calls).toBe(1)
  const { sessions } = await ok(listSessions(store, {}))
  expect(sessions.map(({ metadata }) => metadata['cwd'])).toEqual(['/srv/api'])
})

it('calls are of one caller if all their credentials are equal', () => {
  const spool = openTestSpool()
  const posted: Uint8Array[] = []
  const frames = new Frames({ spool, post: (records) => posted.push(records) })
  const all: readonly { readonly [name: string]: string }[] = [
    ...[{}, { authorization: 'one' }, { authorization: 'two' }, { 'x-api-key': 'one' }, { 'api-key': 'one' }],
    ...[{ 'x-goog-api-key': 'one' }, { cookie: 'one' }, { authorization: 'two', 'x-api-key': 'one' }],
    ...[{ authorization: 'two', 'x-other': 'one' }, { authorization: 'one' }],
  ]
  for (const given of all) frames.observe('default', { ...request, header: (name) => given[name] }).sent()
  frames.flush()
  const text = Buffer.concat(posted).toString('latin1')
  const digests = [...text.matchAll(/"authorization":"([^"]+)"/g)].map(([, digest]) => digest)
  expect(digests.map((digest) => digests.indexOf(digest))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 2, 1])
  spool.close()
})

it('a spool file is truncated when its calls end, and a recorder that ends leaves none', () => {
  const spool = openTestSpool()
  const frames = untaken(spool)
  observed(frames, 'one')
  observed(frames, 'two')
  const path = join(near, '..', files()[0] ?? '')
  frames.over(1)
  expect(statSync(path).size).toBeGreaterThan(0)
  frames.over(2)
  expect(statSync(path).size).toBe(0)
  spool.close()
  expect(readdirSync(join(near, '..'))).toEqual([])
})

it('spool files are removed even while calls overlap endlessly', () => {
  let now = 1000
  const spool = openTestSpool({ now: () => now })
  const frames = untaken(spool)
  observed(frames, 'long')
  const bytes = (): number => files().reduce((sum, name) => sum + statSync(join(near, '..', name)).size, 0)
  const ofOne = bytes()
  for (let call = 2; call < 20; call++, now += 6000) {
    observed(frames, 'short')
    if (call > 2) frames.over(call - 1)
    expect(files().length).toBeLessThanOrEqual(3) // that of the long one, that of the last, and the current one
    expect(bytes()).toBeLessThan(10 * ofOne)
  }
  frames.over(1)
  frames.over(19)
  expect(files().length).toBe(1)
  spool.close()
})

it('a call after 16 MiB of others starts a new spool file', () => {
  const spool = openTestSpool({ now: () => 1000 })
  const frames = untaken(spool)
  observed(frames, 'small')
  observed(frames, 'x'.repeat(2 ** 24))
  expect(files().length).toBe(1)
  observed(frames, 'next')
  expect(files().length).toBe(2)
  spool.close()
})

it('a spool file takes calls for ten seconds and up to 16 MiB, inclusive; an empty one at any age', () => {
  let now = 1000
  const spool = openTestSpool({ now: () => now })
  const filled = (segment: Segment, size: number): Segment => {
    const rest = size - segment.size
    expect(spool.write(segment, [[Buffer.alloc(rest), new Uint8Array(0)]])).toBe(true)
    expect(segment.size).toBe(size)
    return segment
  }
  const first = spool.begin() as Segment
  spool.write(first, [[Buffer.from('head'), new Uint8Array(0)]])
  now += 10_000
  expect(spool.begin()).toBe(first)
  now += 1
  const second = spool.begin() as Segment
  expect(second).not.toBe(first)
  spool.write(second, [[Buffer.from('head'), new Uint8Array(0)]])
  filled(second, 2 ** 24)
  expect(spool.begin()).toBe(second)
  filled(second, 2 ** 24 + 1)
  const third = spool.begin() as Segment
  expect(third).not.toBe(second)
  spool.write(third, [[Buffer.from('head'), new Uint8Array(0)]])
  spool.over(third, 1)
  now += 60_000
  expect(spool.begin()).toBe(third)
  for (const [segment, calls] of [
    [first, 2],
    [second, 2],
    [third, 1],
  ] as const)
    // oxfmt-ignore
    for (let call = 0; call < calls; call++) spool.over(segment, call)
  spool.close()
})

it('the next recorder records leftovers: complete answers, partial ones, and missing ones', async () => {
  const spool = openTestSpool()
  const frames = untaken(spool)
  const whole = observed(frames, 'whole')
  answer(whole)
  whole.end()
  answer(observed(frames, 'whole, though nobody saw its end'))
  answer(observed(frames, 'cut'), json.slice(0, 30))
  answer(observed(frames, 'cut and compressed'), gzipSync(json).subarray(0, 20), 'gzip')
  observed(frames, 'unanswered')
  frames.observe('default', { ...request, header: () => undefined }).piece(Buffer.from('{"mod')) // was never made
  const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"whole by its length"}]}')
  const header = (name: string) => (name === 'content-length' ? String(body.length) : undefined)
  frames.observe('default', { ...request, header }).piece(body)
  const store = memoryStore()
  expect((await replayed(store)).calls).toBe(0) // its recorder lives
  spool.close()
  const { calls, summary } = await replayed(store)
  expect([calls, summary.calls, summary.lost]).toEqual([6, 6, 0])
  const killed = 'the recorder was killed before the answer was whole'
  expect(await recordedIn(store)).toEqual([
    ['cut and compressed', killed],
    ['cut', killed],
    ['unanswered', killed],
    ['whole by its length', killed],
    ['whole, though nobody saw its end', 'heard'],
    ['whole', 'heard'],
  ])
  expect(readdirSync(join(near, '..'))).toEqual([])
  expect((await replayed(store)).calls).toBe(0)
})

it('the spool of another store in the same folder stays for a recorder of that store', async () => {
  const spool = openTestSpool()
  observed(untaken(spool), 'asked')
  spool.close()
  const own = near
  near = join(near, '..', 'other.db')
  expect((await replayed(memoryStore())).calls).toBe(0)
  near = own
  expect((await replayed(memoryStore())).calls).toBe(1)
})

it('a request that its client aborted is recorded by no later recorder either, however whole it looks', async () => {
  const spool = openTestSpool()
  const call = untaken(spool).observe('default', { ...request, header: () => undefined })
  call.piece(Buffer.from('{"model":"m","messages":[{"role":"user","content":"aborted"}]}'))
  call.sent(new Error('the client aborted its request'))
  spool.close()
  const store = memoryStore()
  expect((await replayed(store)).summary).toMatchObject({ calls: 0, lost: 1 })
  expect(await recordedIn(store)).toEqual([])
})

/** Calls of which a worker stores the first few, and nobody hears that it has. */
const storedUnheard = async (
  store: Store,
  questions: readonly string[],
  stored: number,
  now: () => number = Date.now,
): Promise<void> => {
  const spool = openTestSpool({ now })
  const handed: [Uint8Array, Segment | undefined][] = []
  const frames = new Frames({ spool, post: (records, segment) => handed.push([records, segment]), now })
  for (const question of questions) {
    const call = observed(frames, question)
    answer(call)
    call.end()
  }
  frames.flush()
  const recorder: Recorder = createRecorder({ store, now: () => reader.now() })
  const reader: FrameReader = new FrameReader(
    () => recorder,
    () => undefined,
  )
  for (const [records, segment] of handed)
    for (const frame of framesIn(records)) if (frame.call <= stored) reader.take(frame, segment)
  await recorder.settled()
  spool.close()
}

it('a call with a stored receipt is not recorded again, whenever the kill came', async () => {
  const store = memoryStore()
  await storedUnheard(store, ['one', 'two'], 1)
  expect(await recordedIn(store)).toEqual([['one', 'heard']])
  expect((await replayed(store)).summary.calls).toBe(1)
  expect(await recordedIn(store)).toEqual([
    ['one', 'heard'],
    ['two', 'heard'],
  ])
})

it('content removed after storing does not come back', async () => {
  const store = memoryStore()
  const spool = openTestSpool()
  const frames = untaken(spool)
  observed(frames, 'stays')
  const call = observed(frames, 'removed')
  answer(call)
  call.end()
  frames.over(2)
  spool.close()
  await replayed(store)
  expect(await recordedIn(store)).toEqual([['stays', expect.stringContaining('killed')]])
})

it('a spool is encrypted with keys; without its key it stays', async () => {
  const key = newHostKey()
  const keys = { current: key, byId: (id: string) => (id === key.id ? key.key : undefined) }
  const spool = openTestSpool({ keys })
  const frames = untaken(spool)
  answer(observed(frames, 'a secret question'))
  const path = join(near, '..', files()[0] ?? '')
  expect(readFileSync(path, 'latin1')).not.toMatch(/secret|heard|completions/)
  spool.close()
  const store = memoryStore()
  expect((await replayed(store)).calls).toBe(0)
  expect(notices).toEqual([expect.stringContaining(`its key is wrapped by the key ${key.id}, which was not found`)])
  expect(isSpooledBefore(near, Date.now())).toBe(true)
  expect((await replayed(store, keys)).calls).toBe(1)
  expect(await recordedIn(store)).toEqual([['a secret question', 'heard']])
  expect(isSpooledBefore(near, Date.now())).toBe(false)
})

it.each([
  ['a torn end is the end', (bytes: Buffer) => bytes.subarray(0, -5), 2, 0],
  [
    'a changed byte is told, and the file stays',
    (bytes: Buffer) => bytes.fill(~(bytes[200] as number), 200, 201),
    0,
    1,
  ],
])('a damaged spool: %s', async (_, change, calls, told) => {
  const key = newHostKey()
  const keys = { current: key, byId: () => key.key }
  const spool = openTestSpool({ keys })
  const frames = untaken(spool)
  for (const question of ['one', 'two']) answer(observed(frames, question))
  spool.close()
  const path = join(near, '..', files()[0] ?? '')
  writeFileSync(path, change(readFileSync(path)))
  const found = await replayed(memoryStore(), keys)
  expect(notices).toEqual(told === 0 ? [] : [expect.stringContaining("can't be recorded")])
  expect(found.calls).toBe(calls)
  expect(existsSync(path)).toBe(told > 0)
})

it('the spool of a recorder that runs is neither recorded nor reported', async () => {
  const store = memoryStore()
  const spool = openTestSpool()
  observed(untaken(spool), 'one')
  expect((await replayed(store)).calls).toBe(0)
  expect([notices, await recordedIn(store)]).toEqual([[], []])
  spool.close()
})

it('a spool file set aside for crashing its recorder is reported and not read', async () => {
  const spool = openTestSpool()
  observed(untaken(spool), 'one')
  spool.close()
  const path = join(near, '..', files()[0] ?? '')
  renameSync(path, `${path}${failedSuffix}`)
  expect((await replayed(memoryStore())).calls).toBe(0)
  expect(notices).toEqual([expect.stringContaining(`${failedSuffix} has calls of a killed recorder`)])
  expect(existsSync(`${path}${failedSuffix}`)).toBe(true)
})

it('traffic continues when the spool is full, unwritable, or its folder is gone', () => {
  const full = openTestSpool({ most: 1000 })
  const frames = untaken(full)
  observed(frames, 'x'.repeat(2000))
  observed(frames, 'fits')
  expect(notices).toEqual([
    expect.stringMatching(/^the spool has 1000 bytes; if the recorder is killed, calls .* are lost$/),
  ])
  const size = statSync(join(near, '..', files()[0] ?? '')).size
  expect(size).toBeLessThanOrEqual(1000)
  frames.over(1)
  frames.over(2)
  observed(frames, 'again')
  expect(statSync(join(near, '..', files()[0] ?? '')).size).toBeGreaterThan(0)
  full.close()

  const broken = openTestSpool()
  const segment = broken.begin()
  closeSync(segment?.fd ?? -1)
  expect(broken.write(segment as Segment, [[Buffer.from('0123456789'), new Uint8Array(0)]])).toBe(false)
  expect(notices.at(-1)).toMatch(/^the spool can't be written: EBADF/)
  expect(broken.begin()).toBeUndefined() // for a second

  rmSync(join(near, '..'), { recursive: true, force: true })
  const gone = untaken(full)
  answer(observed(gone, 'goes on'))
})

it('a spool has at most so many bytes, 256 MiB by default; the marks of recorded calls always fit', () => {
  const record = (length: number) => recordOf({ kind: kinds.chunk, call: 1, at: 0, bytes: new Uint8Array(length) })
  const large = openTestSpool()
  expect(large.write(large.begin() as Segment, [record(2 ** 28)])).toBe(false)
  expect(notices).toEqual([expect.stringMatching(/^the spool has 268435456 bytes/)])
  large.close()
  const small = openTestSpool({ most: 1000 })
  const segment = small.begin() as Segment
  expect(small.write(segment, [record(200)])).toBe(true)
  const left = 1000 - segment.size - 17
  expect(small.write(segment, [record(left + 1)])).toBe(false)
  expect(small.write(segment, [record(left)])).toBe(true)
  expect(segment.size).toBe(1000)
  expect(small.begin()).toBeUndefined()
  expect(small.write(segment, [record(83)])).toBe(true)
  expect(small.write(segment, [record(84)])).toBe(false)
  expect(notices.slice(1)).toEqual([expect.stringMatching(/^the spool has 1000 bytes/)])
  small.close()
})

it('a stuck worker loses calls, which are counted, and holds at most 256 MiB', () => {
  const sizes: number[] = []
  const frames = new Frames({ spool: undefined, post: (records) => sizes.push(records.length) })
  const call = observed(frames, 'one')
  const piece = new Uint8Array(2 ** 24)
  for (let count = 0; count < 40; count++) {
    call.chunk(piece)
    frames.flush()
  }
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2 ** 28 + 1000)
  expect(frames.unanswered).toBe(1)
  expect(frames.open).toBe(1)
})

it('after the worker ended, calls are spooled and each is open once', () => {
  const frames = new Frames({ spool: undefined, post: () => undefined })
  const call = observed(frames, 'one')
  frames.ended()
  const piece = new Uint8Array(2 ** 24)
  for (let count = 0; count < 40; count++) {
    call.chunk(piece)
    frames.flush()
  }
  expect([frames.open, frames.unanswered]).toEqual([1, 0])
})

it('forwarding costs the same for any request length: nothing is parsed or copied, and one write is made', () => {
  const [posted, writes] = [[] as Uint8Array[], [] as (readonly Uint8Array[])[]]
  const [parse, write] = [vi.spyOn(JSON, 'parse'), fs.writevSync]
  fs.writevSync = (fd, pieces) => {
    writes.push(pieces as readonly Uint8Array[])
    return write(fd, pieces)
  }
  syncBuiltinESMExports()
  const spool = openTestSpool()
  const frames = new Frames({ spool, post: (records) => posted.push(records) })
  try {
    for (const messages of [1, 400, 4000]) {
      const text = JSON.stringify({
        messages: Array.from({ length: messages }, () => ({ role: 'user', content: 'a' })),
      })
      const body = Buffer.from(text)
      const length = String(body.length)
      const call = frames.observe('default', {
        ...request,
        header: (name) => (name === 'content-length' ? length : ''),
      })
      call.piece(body)
      call.sent()
      const isCompressed = (name: string) => (name === 'content-encoding' ? 'identity' : undefined)
      call.answered(200, isCompressed)
      call.chunk(Buffer.from('first'))
      expect(posted).toEqual([]) // its worker does not wake up before the client has the first byte
      expect(writes).toHaveLength(2) // the request before its provider has it, the answer before its client has it
      expect(writes[0]).toContain(body) // itself, and no copy
      const written = writes.flat().reduce((sum, piece) => sum + piece.length, 0)
      expect(written - body.length).toBeLessThan(500)
      frames.flush()
      expect(posted.flatMap((records) => [...framesIn(records)])).toHaveLength(5)
      posted.length = writes.length = 0
    }
    expect(parse).not.toHaveBeenCalled()
  } finally {
    parse.mockRestore()
    fs.writevSync = write
    syncBuiltinESMExports()
    spool.close()
  }
})

it('350,000 messages in 26 kB take 26 kB in the forwarding process', () => {
  const text = `{"messages":[${Array.from({ length: 350_000 }, () => '{"role":"user","content":"a"}').join(',')}]}`
  const bomb = gzipSync(text)
  const posted: Uint8Array[] = []
  const spool = openTestSpool()
  const frames = new Frames({ spool, post: (records) => posted.push(records) })
  const header = (name: string) => (name === 'content-encoding' ? 'gzip' : undefined)
  for (let count = 0; count < 100; count++) {
    const call = frames.observe('default', { ...request, header })
    call.piece(bomb)
    call.sent()
  }
  observed(frames, 'another client')
  frames.flush()
  const sum = (all: readonly Uint8Array[]): number => all.reduce((total, { length }) => total + length, 0)
  expect(sum(posted)).toBeLessThan(101 * (bomb.length + 500))
  expect(statSync(join(near, '..', files()[0] ?? '')).size).toBeLessThan(101 * (bomb.length + 500))
  spool.close()
})

const disk = smallDisk('512k')
afterAll(() => disk?.remove())

it('a full disk is reported by the spool', leftOutIf(disk === undefined, 'nothing can be mounted here'), async () => {
  near = join(disk?.path ?? '', 's.db')
  const spool = openTestSpool()
  const frames = untaken(spool)
  answer(observed(frames, 'before'))
  const large = observed(frames, 'x'.repeat(2 ** 20)) // half of it fits
  answer(large)
  answer(observed(frames, 'while it is full'))
  expect(notices).toEqual([
    expect.stringMatching(/^the spool can't be written: .*; if the recorder is killed, calls .* are lost$/),
  ])
  writeFileSync(join(disk?.path ?? '', 'other'), '') // the disk is not full of it: what did not fit is cut away
  const [file = ''] = files()
  expect(statSync(join(disk?.path ?? '', file)).size).toBeLessThan(4000)
  spool.close()
  expect((await replayed(memoryStore())).calls).toBe(1)
})

/** A spool that a recorder left, with one question. */
const leftWith = (question: string, options: Partial<SpoolOptions> = {}): string => {
  const spool = openTestSpool(options)
  answer(observed(untaken(spool), question))
  const path = join(near, '..', files()[0] ?? '')
  spool.close()
  return path
}
const key = newHostKey()
const keys = { current: key, byId: (id: string) => (id === key.id ? key.key : undefined) }
const frame = (kind: number, value: unknown, call = 1): readonly Uint8Array[] =>
  recordOf({ kind, call, at: 1, bytes: jsonBytes(value) })

it.each([
  ['of another version', (path: string) => writeFileSync(path, Buffer.concat(frame(kinds.spool, { version: 2 })))],
  ['that is no spool', (path: string) => writeFileSync(path, '\0\0\0\x0512345')],
  ['with a call that is none', (path: string) => appendFileSync(path, Buffer.concat(frame(kinds.asked, null, 9)))],
  ['that leads elsewhere', (path: string) => (renameSync(path, `${path}x`), symlinkSync(`${path}x`, path))],
  ['that is a file with two names', (path: string) => linkSync(path, join(near, '..', 'other'))],
  ['that is a folder', (path: string) => (rmSync(path), mkdirSync(path))],
  ['that is a pipe', (path: string) => (rmSync(path), spawnSync('mkfifo', [path]))],
  ['with a lock that is none', (path: string) => writeFileSync(path.replace(/\.0$/, '.lock'), 'x'.repeat(9000))],
  [
    'with a lock that leads elsewhere',
    (path: string) => {
      const lock = path.replace(/\.0$/, '.lock')
      renameSync(lock, `${lock}x`)
      symlinkSync(`${lock}x`, lock)
    },
  ],
])('a spool file %s is reported and left unchanged', async (_, change) => {
  const path = leftWith('one')
  change(path)
  const isFile = fs.lstatSync(path).isFile()
  const before = isFile ? readFileSync(path) : undefined
  expect((await replayed(memoryStore())).calls).toBe(0)
  expect(notices).toEqual([expect.stringMatching(/can't be (?:recorded|locked)/)])
  expect(isFile ? readFileSync(path) : undefined).toEqual(before)
  expect(isSpooledBefore(near, 0)).toBe(false) // nor is it waited for
})

it(
  'a spool of another user is not recorded',
  leftOutIf(process.geteuid?.() !== 0, 'only root gives files away'),
  async () => {
    const path = leftWith('planted')
    chownSync(path, 12_345, 12_345)
    expect((await replayed(memoryStore())).calls).toBe(0)
    expect(notices).toEqual([expect.stringContaining('it is not a regular file of this user')])
    chownSync(path.replace(/\.0$/, '.lock'), 12_345, 12_345)
    expect((await replayed(memoryStore())).calls).toBe(0)
    expect(notices[1]).toMatch(/\.lock can't be locked, .*: it is not a regular file of this user/)
    writeFileSync(near, '')
    chownSync(near, 12_345, 12_345) // but that of the store's owner is
    expect((await replayed(memoryStore())).calls).toBe(1)
  },
)

it('an unencrypted spool beside an encrypted store is not recorded: anyone could have written it', async () => {
  leftWith('planted')
  expect((await replayed(memoryStore(), keys)).calls).toBe(0)
  expect(notices).toEqual([
    expect.stringContaining('it is not encrypted: only a recorder without a key file records it'),
  ])
  expect((await replayed(memoryStore())).calls).toBe(1)
})

it('a spool record longer than its file ends the file', async () => {
  const path = leftWith('one')
  for (const length of [
    [0, 0, 0, 9],
    [255, 255, 255, 255],
    [127, 255, 255, 255],
  ]) {
    copyFileSync(path, `${path}0`)
    appendFileSync(`${path}0`, Buffer.from([...length, 4, 0]))
  }
  expect((await replayed(memoryStore())).calls).toBe(2)
  expect(notices).toEqual([])
})

it('two calls of one session in one millisecond keep their own receipts', async () => {
  const store = memoryStore()
  const spool = openTestSpool({ now: () => 1000 })
  const posted: [Uint8Array, Segment | undefined][] = []
  const frames = new Frames({ spool, post: (records, segment) => posted.push([records, segment]), now: () => 1000 })
  const header = (name: string) => (name === 'session-id' ? 'one session' : undefined)
  for (const content of ['one', 'two']) {
    const call = frames.observe('default', { ...request, header })
    call.sent(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }))
    answer(call)
    call.end()
  }
  frames.flush()
  const recorder: Recorder = createRecorder({ store, now: () => 1000 })
  const reader: FrameReader = new FrameReader(
    () => recorder,
    () => undefined,
  )
  const [[records, segment] = []] = posted
  for (const frame of framesIn(records ?? new Uint8Array(0))) if (frame.call === 1) reader.take(frame, segment)
  await recorder.settled()
  const { sessions } = await ok(listSessions(store, { limit: 2 }))
  // It was killed directly before the receipt of the second.
  spool.write(segment as Segment, [
    recordOf({ kind: kinds.place, call: 2, at: 1000, bytes: Buffer.from(sessions[0]?.id ?? '') }),
  ])
  spool.close()
  expect((await replayed(store)).summary.calls).toBe(1)
  expect((await recordedIn(store)).flat().toSorted()).toEqual(['heard', 'heard', 'one', 'two'])
})

it('calls that began in one millisecond and are stored are not recorded again', async () => {
  const store = memoryStore()
  await storedUnheard(store, ['one', 'two', 'three'], 3, () => 1000)
  expect((await replayed(store)).summary.calls).toBe(0)
  expect((await recordedIn(store)).flat().toSorted()).toEqual(['heard', 'heard', 'heard', 'one', 'three', 'two'])
})

it('a spool file stays while the store is busy and cannot tell what it has', async () => {
  const store = memoryStore()
  const spool = openTestSpool()
  const segment = spool.begin() as Segment
  observed(untaken(spool), 'one')
  spool.write(segment, [recordOf({ kind: kinds.place, call: 1, at: 1, bytes: Buffer.from('s') })])
  spool.close()
  const isBusy: Store['info'] = () => sessionTask(() => Promise.resolve(left({ _tag: 'Busy', waited: 1 })), 'info')
  const busy: Store = { ...store, info: isBusy }
  expect((await replayed(busy)).calls).toBe(0)
  expect(notices).toEqual([expect.stringContaining("can't be recorded: could not look for receipts in")])
  expect((await replayed(store)).calls).toBe(0) // the session is not there: it was removed
  expect(notices.length).toBe(1)
  expect(readdirSync(join(near, '..'))).toEqual([])
})

it('a store whose name begins like another one and its spool has spools of its own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-names-'))
  const [a, b] = [join(folder, 'a'), join(folder, 'a-spool-b')]
  const spool = new Spool({ near: b, onNotice: () => {} })
  const segment = spool.begin()
  expect(segment?.path.startsWith(`${b}-spool-`)).toBe(true)
  spool.close()
  expect([...leftSpools(a, () => {})]).toEqual([])
  rmSync(folder, { recursive: true })
})
