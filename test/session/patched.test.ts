/**
 * Code that replaces built-ins while a session is called: it sees every argument, `this` and result that passes through
 * them, and puts EVIL where the message says good. Then either the call fails, or the record is the message that was
 * given, or opening and verifying report the row as damaged.
 */
/* oxlint-disable no-extend-native -- that is what is tested */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft } from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createSession, forkSession, openSession, readSession, user, verifySession, type Session } from 'indelible'
import { memoryStore, type Store, type StoredRow } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { rowLeaf } from '../../src/proof/kit.ts'
import { ok } from '../task-results.ts'
import { places, plain, withPatches, type Patch, type Place } from '../history/built-ins.ts'
import { isFull, oneIn } from '../rounds.ts'

// The test's own tools, taken before anything is patched.
const { getOwnPropertyDescriptor, getPrototypeOf, isFrozen } = Object
const { apply, ownKeys, construct } = Reflect
const { isView } = ArrayBuffer
const { isArray } = Array
const replaced = Function.prototype.call.bind(String.prototype.replaceAll) as (
  text: string,
  what: string,
  by: string,
) => string
const prototypes: readonly unknown[] = [Object.prototype, Array.prototype, null]

/** A copy with EVIL for good; the value itself where it is no plain data. */
const evil = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return replaced(value, 'good', 'EVIL')
  if (typeof value !== 'object' || value === null || depth > 5) return value
  if (isView(value)) return evilBytes(value as Uint8Array, false)
  for (let index = 0, prototype = getPrototypeOf(value) as unknown; ; index++) {
    if (index === 3) return value
    if (prototypes[index] === prototype) break
  }
  const copy = (isArray(value) ? [] : {}) as { [key: PropertyKey]: unknown }
  const keys = ownKeys(value)
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    if (key !== 'length') copy[key] = evil((value as { [key: string]: unknown })[key], depth + 1)
  }
  return copy
}
const letters = [0x67, 0x6f, 0x6f, 0x64]
const evilBytes = (bytes: Uint8Array, inPlace: boolean): Uint8Array => {
  let into: Uint8Array | undefined = inPlace ? bytes : undefined
  for (let at = 0; at + 3 < bytes.byteLength; at++) {
    let letter = 0
    while (letter < 4 && bytes[at + letter] === letters[letter]) letter++
    if (letter < 4) continue
    into ??= copyOf(bytes)
    into[at] = 0x45
    into[at + 1] = 0x56
    into[at + 2] = 0x49
    into[at + 3] = 0x4c
  }
  return into ?? bytes
}
const Bytes = Uint8Array
const copyOf = (bytes: Uint8Array): Uint8Array => {
  const copy = new Bytes(bytes.byteLength)
  for (let at = 0; at < bytes.byteLength; at++) copy[at] = bytes[at] as number
  return copy
}

/** The value itself with EVIL for good, as far as it is not frozen. */
const spoil = (value: unknown, depth = 0): void => {
  if (typeof value !== 'object' || value === null || depth > 3) return
  if (isView(value)) return void evilBytes(value as Uint8Array, true)
  if (prototypes[0] !== getPrototypeOf(value) && prototypes[1] !== getPrototypeOf(value)) return
  const keys = ownKeys(value)
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string
    const descriptor = getOwnPropertyDescriptor(value, key)
    const held: unknown = descriptor?.value
    if (typeof held === 'string' && descriptor?.writable === true && !isFrozen(value))
      (value as { [key: string]: unknown })[key] = replaced(held, 'good', 'EVIL')
    else spoil(held, depth + 1)
  }
}

/** A replaced promise has rejections that nobody hears: each is the failure of a call that the test looks at itself. */
const heard: NodeJS.UnhandledRejectionListener[] = []
const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
beforeAll(() => {
  heard.push(...process.listeners('unhandledRejection'))
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', () => {})
})
afterAll(async () => {
  await turnOfTheLoop()
  process.removeAllListeners('unhandledRejection')
  for (const listener of heard) process.on('unhandledRejection', listener)
})

type Original = (...args: unknown[]) => unknown
type Manner = (original: Original) => Original

const calling = (original: Original, self: unknown, args: unknown[], target: unknown): unknown =>
  target === undefined ? apply(original, self, args) : construct(original, args, target as never)

/** What a patch does in place of the function. One that is called by itself is the function. */
const manners: readonly Manner[] = [
  (original) => patched((self, args, target) => calling(original, self, evil(args) as unknown[], target), original),
  (original) => patched((self, args, target) => evil(calling(original, self, args, target)), original),
  (original) => patched((self, args, target) => calling(original, evil(self), args, target), original),
  (original) =>
    patched((self, args, target) => {
      spoil(self)
      spoil(args)
      const result = calling(original, self, args, target)
      spoil(result)
      return result
    }, original),
  () => () => undefined,
  () => () => true,
  () => () => [],
  () => (first) => first,
  () => () => ({ next: () => ({ done: true, value: undefined }) }),
  () => () => {
    throw new RangeError('patched')
  },
]

const patched = (work: (self: unknown, args: unknown[], target: unknown) => unknown, original: Original): Original => {
  let isBusy = false
  return function (this: unknown, ...args: unknown[]) {
    if (isBusy) return calling(original, this, args, new.target)
    isBusy = true
    try {
      return work(this, args, new.target)
    } finally {
      isBusy = false
    }
  }
}

const patchOf = ({ target, key }: Place, manner: Manner): Patch => {
  const before = getOwnPropertyDescriptor(target, key) as PropertyDescriptor
  const made = manner((before.get ?? before.value) as Original)
  const patch = ended(made, key === 'next' ? 5_000 : 100_000)
  const after = before.get === undefined ? { ...before, value: patch } : { ...before, get: patch }
  return { target, key, before: plain(before), after: plain(after) }
}

/** A loop that never ends would hold up the test for ever (of an iterator, of SHA-256 by `Math.min`): it fails after so many calls. */
const ended = (patch: Original, most: number): Original => {
  let calls = 0
  return function (this: unknown, ...args: unknown[]) {
    if (++calls > most) throw new RangeError('a loop without an end')
    return calling(patch, this, args, new.target)
  }
}

/** Nothing here waits for more than promises. A call that is not done after so many of them never is. */
const turns = 250

/** What a call gives while a patch is in place: undefined if it fails or never answers. */
const under = async <T>(patch: Patch, call: () => PromiseLike<T>): Promise<T | undefined> => {
  let answer: T | undefined
  const { target, key, before, after } = patch
  defineProperty(target, key, after)
  try {
    const asked = (async () => {
      try {
        answer = await call()
      } catch {
        answer = undefined
      }
    })()
    for (let turn = 0; turn < turns; turn++) await undefined
    void asked
  } catch {
    answer = undefined
  } finally {
    defineProperty(target, key, before as PropertyDescriptor)
  }
  return answer
}
const { defineProperty } = Object

/** What a call gives; undefined if it never answers, because it waits for one that a patch has stopped for good. */
const answered = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
  const answers: T[] = []
  void call().then((given) => answers.push(given))
  for (let turn = 0; turn < 40 && answers.length === 0; turn++) await turnOfTheLoop()
  return answers[0]
}

const long = 'good and long '.repeat(400)
const messages = [user('good'), user(long)]

const folder = mkdtempSync(join(tmpdir(), 'indelible-patched-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newPath = (): string => join(folder, `${files++}.db`)
/** A store in a file: all of its work is done in turns of promises. */
const fileStore = (path = newPath()): Promise<Store> => ok(sqliteStore({ path, durability: 'os' }))

/** Where sessions are kept. A file is used again until a call on it has failed. */
const placesOfStores: { readonly [name: string]: { fresh: () => Promise<Store>; failed: () => Promise<void> } } = {
  'in memory': { fresh: async () => memoryStore(), failed: async () => {} },
  'in a file': (() => {
    let store: Store | undefined
    return {
      fresh: async () => (store ??= await fileStore()),
      failed: async () => {
        const ended = store
        store = undefined
        if (ended !== undefined) await answered(() => ended.close()())
      },
    }
  })(),
}
let sessions = 0

/** The doors that record: each gives the session with the messages of the test and no others. */
const writing: { readonly [door: string]: (store: Store, session: Session) => PromiseLike<unknown> } = {
  append: (_, session) => session.append(messages),
  'append with a note': (_, session) => session.append({ messages, notes: [{ type: 'pin', position: 0 }] }),
  rebase: (_, session) => session.rebase(() => messages),
  'rewind with messages instead': (_, session) => session.rewind(0, { instead: messages }),
  createSession: (store, session) => createSession(store, { id: `${session.id} new`, messages }),
}
const expected = JSON.stringify(messages)

/** What is wrong after a door was called under a patch; undefined if nothing is. */
const afterWriting = async (place: string, door: string, patch: Patch): Promise<string | undefined> => {
  const { fresh, failed } = placesOfStores[place] as (typeof placesOfStores)[string]
  const made = async (): Promise<readonly [Store, Session]> => {
    const store = await fresh()
    return [store, await ok(createSession(store, { id: `s${sessions++}` }))]
  }
  // A call that gave something may have stopped the store, too.
  let begun = await answered(made)
  if (begun === undefined) {
    await failed()
    begun = await made()
  }
  const [store, session] = begun
  const answer = await under(patch, () => (writing[door] as (typeof writing)[string])(store, session))
  const id = door === 'createSession' ? `${session.id} new` : session.id
  // A patch can make a call answer what is no session.
  const inMemory = JSON.stringify(
    door === 'createSession' ? ((answer as Partial<Session> | undefined)?.view?.() ?? []) : session.view(),
  )
  if (inMemory.includes('EVIL')) return 'the session shows another message'
  const opened = await answered(() => openSession(store, id)())
  const verified = opened && (await answered(() => verifySession(store, id)()))
  if (answer === undefined) await failed()
  if (opened === undefined || verified === undefined) return undefined // nothing is shown
  if (isLeft(opened)) {
    if (answer === undefined) return undefined
    return opened.left._tag === 'DamagedLog' && isLeft(verified) ? undefined : `it is ${opened.left._tag}`
  }
  const shown = JSON.stringify(opened.right.view())
  if (shown.includes('EVIL')) return `another message is opened${isLeft(verified) ? '' : ' and verified'}`
  return answer === undefined || shown === expected ? undefined : `it has ${shown.slice(0, 100)}`
}

/** The doors that read a record. */
const reading: { readonly [door: string]: (store: Store) => PromiseLike<unknown> } = {
  openSession: (store) => openSession(store, 's'),
  readSession: (store) => readSession(store, 's'),
  verifySession: (store) => verifySession(store, 's'),
}

/** The doors that change a session that has the messages: what they add has another text. */
const changing: { readonly [door: string]: (store: Store, session: Session) => PromiseLike<unknown> } = {
  note: (_, session) => session.note({ type: 'pin', position: 0 }),
  seal: (_, session) => session.seal(),
  'rewind(0)': (_, session) => session.rewind(0),
  pop: (_, session) => session.pop(),
  rewind: (_, session) => session.rewind(1),
  forkSession: (store) => forkSession(store, 's', { id: 'fork' }),
  verifySession: (store) => verifySession(store, 's'),
}

/** What is wrong after such a door was called under a patch; undefined if nothing is. */
const afterChanging = async (door: string, patch: Patch): Promise<string | undefined> => {
  const store = memoryStore()
  const session = await ok(createSession(store, { id: 's', messages }))
  await under(patch, () => (changing[door] as (typeof changing)[string])(store, session))
  for (const shown of [() => session.view(), () => session.conversation()]) {
    try {
      if (JSON.stringify(shown()).includes('EVIL')) return 'the session shows another message'
    } catch {
      // it shows none
    }
  }
  for (const id of ['s', 'fork']) {
    const opened = await answered(() => openSession(store, id)())
    if (
      opened !== undefined &&
      !isLeft(opened) &&
      JSON.stringify([opened.right.view(), opened.right.conversation()]).includes('EVIL')
    )
      return `another message is opened in ${id}`
  }
  return undefined
}

/** What the library calls most; of the rest a few in `npm test`. */
const often: ReadonlySet<string> = new Set(
  ['Array.prototype.map', 'Array.prototype.push', 'Array.prototype.entries', 'Array.prototype.values']
    .concat(['Array.prototype.Symbol(Symbol.iterator)', 'Array.prototype.flatMap', 'Object.freeze', 'JSON.stringify'])
    .concat(['Map.prototype.get', 'Map.prototype.set', 'WeakMap.prototype.get', 'Promise.prototype.then'])
    .map((name) => `globalThis.${name}`),
)
const stride = Number(process.env['INDELIBLE_STRIDE'] ?? (isFull ? 1 : 1499))
/** One of three manners for each of those, another one in the next test. */
let turn = 0
beforeEach(() => void (turn += 1))
const chosen = (place: Place, manner: number, index: number): boolean =>
  index % stride === 0 || (often.has(place.name) && manner < 3 && (index + turn) % oneIn(3) === 0)

describe('replaced built-ins in a session', () => {
  it('every entry point records the messages without patches', async () => {
    const [place] = places
    const none = patchOf(place as Place, (original) => original)
    for (const where of Object.keys(placesOfStores))
      for (const door of Object.keys(writing))
        expect([where, door, await afterWriting(where, door, none)]).toEqual([where, door, undefined])
    withPatches([], () => {})
  })
  it('a lying Array.prototype.map stores nothing that verifies', async () => {
    const patch = patchOf({ target: Array.prototype, key: 'map', name: 'map' }, manners[1] as Manner)
    expect(await afterWriting('in memory', 'append', patch)).toBe(undefined)
  })
  it('an array iterator that ends at once cannot lose a rewound message silently', async () => {
    const patch = patchOf({ target: Array.prototype, key: Symbol.iterator, name: 'iterator' }, manners[8] as Manner)
    expect(await afterWriting('in memory', 'rewind with messages instead', patch)).toBe(undefined)
  })
  const writes = Object.keys(placesOfStores).flatMap((where) =>
    Object.keys(writing).map((door) => [door, where] as const),
  )
  it.each(writes)('cannot make %s record another message %s', async (door, where) => {
    const wrong: string[] = []
    let at = 0
    for (const place of places)
      for (const [index, manner] of manners.entries()) {
        if (!chosen(place, index, at++)) continue
        const found = await afterWriting(where, door, patchOf(place, manner))
        if (found !== undefined) wrong.push(`${place.name}, manner ${index}: ${found}`)
      }
    expect(wrong).toEqual([])
  })
  it.each(Object.keys(changing))('cannot make an existing session show another message by %s', async (door) => {
    const wrong: string[] = []
    let at = 0
    for (const place of places)
      for (const [index, manner] of manners.entries()) {
        if (!chosen(place, index, at++)) continue
        const found = await afterChanging(door, patchOf(place, manner))
        if (found !== undefined) wrong.push(`${place.name}, manner ${index}: ${found}`)
      }
    expect(wrong).toEqual([])
  })
  it.each(Object.keys(reading))('cannot make %s show another message', async (door) => {
    const inMemory = memoryStore()
    await ok(createSession(inMemory, { id: 's', messages }))
    const path = newPath()
    const inFile = await fileStore(path)
    await ok(createSession(inFile, { id: 's', messages }))
    await ok(inFile.close())
    const sound = await fileStore(path)
    // Of a long session, the first messages stay text until they are read.
    const long = memoryStore()
    const rest = Array.from({ length: 128 }, () => user('good'))
    await ok(createSession(long, { id: 's', messages: [...messages, ...rest] }))
    expect(await wronglyRead(door, inMemory)).toEqual([])
    expect(await wronglyRead(door, long)).toEqual([])
    expect(await wronglyRead(door, sound)).toEqual([])
    await ok(sound.close())
    const db = new DatabaseSync(path)
    db.exec(`update row set body = replace(body, 'good', 'EVIL')`)
    db.close()
    const altered = await fileStore(path)
    const { left } = (await verifySession(altered, 's')()) as { readonly left?: unknown }
    expect(left).toMatchObject({ _tag: 'DamagedLog', position: 0 })
    expect(await wronglyRead(door, altered, door === 'verifySession')).toEqual([])
    await ok(altered.close())
  })
})

type Forge = (row: StoredRow, body: string, leaf: string) => object
const forgeries: { readonly [what: string]: Forge } = {
  'has the stored text beside it': (row, body) => ({ ...row, body, stored: row.body }),
  'claims to be erased': (row, body, erased) => ({ ...row, body, erased }),
  'claims to be erased on the second read': (row, body, leaf) => {
    const asked: unknown[] = []
    return Object.defineProperty({ ...row, body }, 'erased', { get: () => (asked.push(0) === 1 ? undefined : leaf) })
  },
  'is another row on the third read': (row, body) => {
    const asked: unknown[] = []
    return Object.defineProperty({ ...row }, 'body', { get: () => (asked.push(0) < 3 ? body : row.body) })
  },
}

describe('a row forged by a patched array iterator', () => {
  const { every } = Array.prototype
  const iteratorOf = Array.prototype[Symbol.iterator]
  const show = async (door: string, count: number, forge: Forge): Promise<string> => {
    const store = memoryStore()
    await ok(createSession(store, { id: 's', messages: Array.from({ length: count }, () => user('good')) }))
    const iterator: Original = function (this: unknown) {
      const rows = this as readonly StoredRow[]
      const row = rows[0]
      if (row?.position !== 0 || typeof row.body !== 'string') return apply(iteratorOf, rows, [])
      const leaf = Buffer.from(rowLeaf(row, store.hash)).toString('hex')
      return apply(iteratorOf, rows.with(0, forge(row, replaced(row.body, 'good', 'EVIL'), leaf) as StoredRow), [])
    }
    try {
      Array.prototype.every = (() => true) as never
      Array.prototype[Symbol.iterator] = iterator as never
      return textOfAll(await (reading[door] as (typeof reading)[string])(store))
    } catch {
      return '' // it shows nothing
    } finally {
      Array.prototype[Symbol.iterator] = iteratorOf
      Array.prototype.every = every
    }
  }
  it.each(Object.entries(forgeries))('is shown by no entry point if it %s', async (_, forge) => {
    for (const door of ['openSession', 'readSession'])
      for (const count of [2, 200]) {
        expect(await show(door, count, (row) => row)).toContain('good')
        expect(await show(door, count, forge)).not.toContain('EVIL')
      }
  })
})

/**
 * The patches under which a door shows another message than the one that was appended, without a word; if nothing may
 * be found good, those under which a head is.
 */
const wronglyRead = async (door: string, store: Store, noHead = false): Promise<readonly string[]> => {
  const wrong: string[] = []
  let at = 0
  for (const place of places)
    for (const [index, manner] of manners.entries()) {
      if (!chosen(place, index, at++)) continue
      const read = await under(patchOf(place, manner), () => (reading[door] as (typeof reading)[string])(store))
      if (read === undefined) continue
      if (textOfAll(read).includes('EVIL') || (noHead && (read as Partial<Session>).head !== undefined))
        wrong.push(`${place.name}, manner ${index}`)
    }
  // Else calls would have been left out.
  return isLeft(await store.info('s')()) ? [...wrong, 'the store has ended'] : wrong
}

const textOfAll = (read: unknown): string => {
  try {
    return JSON.stringify((read as Pick<Session, 'view'>).view())
  } catch {
    return '' // it shows nothing
  }
}
