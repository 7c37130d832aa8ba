/** Tasks: what awaiting and calling them gives, and who is told of a failure that nobody looks at. */
import { spawnSync } from 'node:child_process'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import {
  createSession,
  FaultError,
  faultMessage,
  memoryStore,
  openSession,
  orThrow,
  settle,
  user,
  type Fault,
} from 'indelible'
import { describe, expect, it } from 'vitest'
import { pagesOf, reasonOf, taskOf } from '../../src/task/index.ts'
import { root } from '../../scripts/run.ts'
import { programUrl } from '../programs.ts'

interface Odd {
  readonly _tag: 'Odd'
  readonly number: number
}

const numbers = taskOf<Odd>(({ number }) => `${number} is odd`)

/** The task of a number, which is a failure if the number is odd; `runs` counts how often it was worked on. */
const counting = (number: number) => {
  const runs = { count: 0 }
  const task = numbers(async (): Promise<Either<Odd, number>> => {
    runs.count += 1
    await undefined
    return number % 2 === 1 ? left({ _tag: 'Odd', number }) : right(number)
  }, 'halve')
  return { runs, task }
}

describe('a task', () => {
  it('has started when it is returned', () => {
    expect(counting(0).runs.count).toBe(1)
  })
  it('has one outcome, however often it is called or awaited', async () => {
    const { runs, task } = counting(2)
    expect([await task(), await task()]).toEqual([right(2), right(2)])
    expect([await task, await task, ...(await Promise.all([task, task]))]).toEqual([2, 2, 2, 2])
    expect(runs.count).toBe(1)
  })
  it('gives the same failure to a call and to an await', async () => {
    const { runs, task } = counting(1)
    const fault: Odd = { _tag: 'Odd', number: 1 }
    expect(await task()).toEqual(left(fault))
    const thrown = await (async () => await task)().catch((error: unknown) => error)
    expect(thrown).toBeInstanceOf(FaultError)
    expect(thrown).toBeInstanceOf(Error)
    expect(thrown).toMatchObject({ name: 'FaultError', message: '1 is odd', fault })
    expect(thrown).not.toHaveProperty('cause')
    const cause = new Error('the disk is gone')
    expect(new FaultError({ _tag: 'Io', cause }, 'it failed').cause).toBe(cause)
    await expect(async () => await task).rejects.toThrow('1 is odd')
    expect(await task()).toEqual(left(fault))
    expect(runs.count).toBe(1)
  })
  it('throws synchronously what its function throws', () => {
    expect(() =>
      numbers(() => {
        throw new TypeError('halve takes a number')
      }, 'halve'),
    ).toThrow(new TypeError('halve takes a number'))
  })
  it('works as a TaskEither in fp-ts', async () => {
    const { task } = counting(2)
    expect(
      await pipe(
        task,
        TE.map((number) => number * 10),
        TE.chain((number) => counting(number).task),
      )(),
    ).toEqual(right(20))
  })
})

describe('orThrow', () => {
  const store = memoryStore()
  it('returns the value of an Either or throws its fault', () => {
    expect(orThrow(settle([user('a')])).length).toBe(1)
    expect(() => orThrow(left({ _tag: 'LogExists', id: 'x' } as const))).toThrow(
      'the store already has a session or log "x"',
    )
  })
  it('runs a pipeline and returns its value', async () => {
    const session = await orThrow(
      pipe(
        createSession(store, { id: 'piped' }),
        TE.chainFirst((made) => made.append(user('hello'))),
      ),
    )
    expect(session.len).toBe(1)
    await expect(orThrow(openSession(store, 'none'))).rejects.toMatchObject({
      fault: { _tag: 'NoSuchLog', id: 'none' },
      message: faultMessage({ _tag: 'NoSuchLog', id: 'none' }),
    })
  })
  it('throws values that are not library faults, too', () => {
    for (const [fault, message] of [
      ['mine', 'mine'],
      [{ _tag: 'Mine' }, 'Mine'],
      [new Error('other'), 'other'],
      [null, 'null'],
      [{ _tag: 3 }, '3'],
      [Object.create(null), 'a value that has no text'],
      [{ _tag: 'OfAPackage', reason: 'none', path: ['a'] }, 'OfAPackage (reason "none")'],
    ] as const)
      expect(() => orThrow(left(fault))).toThrow(message)
  })
  it('throws with the sentence that a package has for its fault', async () => {
    const fault = { _tag: 'OfAPackage', reason: 'none' }
    const sentence = ({ reason }: typeof fault): string => `there is ${reason}`
    expect(() => orThrow(left(fault), sentence)).toThrow(/^there is none$/)
    await expect(orThrow(async () => left(fault), sentence)).rejects.toThrow(/^there is none$/)
  })
})

it.each<readonly [unknown, string]>([
  [new Error('it failed'), 'it failed'],
  ['text', 'text'],
  [undefined, 'undefined'],
  [null, 'null'],
  [{ _tag: 'Io' }, 'Io'],
  [{ _tag: 'Io', at: 1, path: 'a', deep: {}, is: true }, 'Io (at 1, path "a", is true)'],
  [{ _tag: 5, a: 1 }, '_tag 5, a 1'],
  [{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 }, 'a 1, b 2, c 3, d 4, e 5, f 6'],
  [{ a: 'x'.repeat(300) }, `a "${'x'.repeat(199)}`],
  [{ deep: {} }, '[object Object]'],
  [Object.create(null), 'a value that has no text'],
])('reasonOf(%o) is "%s"', (cause, reason) => expect(reasonOf(cause)).toBe(reason))

it.each<readonly [string, object, string]>([
  ['plain fields', { _tag: 'OfAPackage', id: 'x', n: 3, deep: {} }, 'OfAPackage (id "x", n 3)'],
  ['the name of a method of objects', { _tag: 'toString', n: 3 }, 'toString (n 3)'],
  ['the name of the prototype', { _tag: '__proto__' }, '__proto__'],
  [
    'a field that throws',
    Object.defineProperty({ _tag: 'OfAPackage', n: 3 }, 'id', {
      enumerable: true,
      get: () => {
        throw new Error('not now')
      },
    }),
    'OfAPackage',
  ],
])('faultMessage of an unknown tag is the tag with its plain fields: %s', (_, fault, message) => {
  expect(faultMessage(fault as Fault)).toBe(message)
})

describe('pages of a list', () => {
  const all = ['a', 'b', 'c']
  const pageAfter = ({ after }: { readonly after?: string }) => {
    const at = after === undefined ? 0 : all.indexOf(after) + 1
    return { items: all.slice(at, at + 1), ...(at < all.length - 1 && { next: all[at] as string }) }
  }
  it('come one after the other until the last or the first failure', async () => {
    const found: unknown[] = []
    for await (const page of pagesOf(async (from) => pageAfter(from))) found.push(page.items)
    for await (const page of pagesOf(async (from) => right(pageAfter(from)))) found.push(page)
    for await (const page of pagesOf(async ({ after }) => (after === 'a' ? left('gone') : right(pageAfter({})))))
      found.push(page)
    const pages = [{ items: ['a'], next: 'a' }, { items: ['b'], next: 'b' }, { items: ['c'] }]
    expect(found).toEqual([['a'], ['b'], ['c'], ...pages.map((page) => right(page)), right(pages[0]), left('gone')])
  })
})

describe('catch and finally of a task', () => {
  it('behave like those of a promise', async () => {
    const session = await createSession(memoryStore())
    const task = session.append(user('hello'))
    expect((await task.catch(() => undefined))?.to).toBe(1)
    let done = 0
    expect((await task.finally(() => void (done += 1))).to).toBe(1)
    expect([session.len, done]).toEqual([1, 1])
    const failing = session.append({ role: 'user' } as never)
    expect(await failing.catch((error: unknown) => error instanceof FaultError && error.fault._tag)).toBe(
      'InvalidMessage',
    )
    await expect(async () => await failing.finally(() => {})).rejects.toThrow(FaultError)
  })
})

describe('plain use of a task', () => {
  it('is await', async () => {
    const session = await createSession(memoryStore(), { id: 's' })
    const { from, to } = await session.append([user('hello'), user('again')])
    expect([from, to, session.len]).toEqual([0, 2, 2])
    await expect(async () => await session.append({ role: 'user' } as never)).rejects.toThrow(FaultError)
    expect(session.len).toBe(2)
  })
})

describe('an unobserved failure', () => {
  /** A script with a session whose id is taken. @returns its output, and what ended it */
  const ran = (body: string) => {
    const script = `
      import { createSession, memoryStore, openSession, storeTask, user } from ${JSON.stringify(programUrl('test/library.ts'))}
      import { pipe } from 'fp-ts/lib/function.js'
      import * as TE from 'fp-ts/lib/TaskEither.js'
      const store = memoryStore()
      const session = await createSession(store, { id: 's' })
      const later = () => new Promise((resolve) => setTimeout(resolve, 20))
      ${body}
      await later()
      console.log(session.len)`
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: root,
      encoding: 'utf8',
    })
    return { stdout: stdout.trim(), stderr, status }
  }
  /** What is made at the first call. */
  const lazily = <T extends object>(make: () => T): (() => T) => {
    let made: T | undefined
    return () => (made ??= make())
  }
  const failing = `session.append({ role: 'user' })`
  it.each([
    ['it is dropped', `void ${failing}`],
    ['it is awaited too late', `const late = ${failing}; await later(); await late.catch(() => {})`],
    ['it is only piped', `pipe(${failing}, TE.map(String))`],
  ])('ends the process with the name of the call where %s', (_how, body) => {
    const { stderr, status } = ran(body)
    expect(stderr).toContain('FaultError: session.append: message 0')
    expect(status).toBe(1)
  })
  // Those that end no process share one.
  const harmless = [
    ['called', `await ${failing}()`],
    ['called and dropped', `void ${failing}()`],
    ['awaited', `try { await ${failing} } catch {}`],
    ['caught', `${failing}.catch(() => {})`],
    ['one of several', `await Promise.allSettled([${failing}, ${failing}])`],
    ['looked at later in the same turn', `const task = ${failing}; await undefined; await task()`],
  ] as const
  const lives = lazily(() =>
    ran(harmless.map(([how, body]) => `{ ${body}; await later(); console.log('${how}') }`).join('\n')),
  )
  it.each(harmless)('does not end the process where it is %s', (how) => {
    const { stdout, stderr, status } = lives()
    expect(stdout.split('\n')).toContain(how)
    expect([stdout.split('\n').at(-1), stderr, status]).toEqual(['0', '', 0])
  })
  const chained = [
    ['the first alone', `void say('a'); void say('b')`, ['session.append']],
    [
      'none behind one that is looked at',
      `say('a').catch(() => {}); void say('b'); void say('c', { expectedLen: 3 })`,
      [],
    ],
    [
      'one that is called after it failed',
      `await say('a').catch(() => {}); state.down = 1; void say('b')`,
      ['session.append'],
    ],
    [
      'a note, which follows no append',
      `say('a').catch(() => {}); state.down = 2; void session.note({ type: 'pin', position: 0 })`,
      ['session.note'],
    ],
  ] as const
  const unhandled = lazily(() => {
    const { stdout } = ran(`
      process.on('unhandledRejection', ({ message }) => console.log(message.split(':')[0]))
      const chain = async (id, does) => {
        await createSession(store, { id, messages: [user('there')] })
        const state = { down: 1 }
        const opened = await openSession({ ...store, append: (id, append) =>
          state.down-- > 0 ? storeTask(async () => ({ _tag: 'Left', left: { _tag: 'Full', path: 'x' } }), 'store.append') : store.append(id, append)
        }, id)
        await does(opened, (text, options) => opened.append(user(text), options), state)
        await later()
        console.log('---')
      }
      ${chained.map(([which, body]) => `await chain('${which}', async (session, say, state) => { ${body} })`).join('\n')}`)
    return stdout.split('---\n').map((lines) => lines.split('\n').slice(0, -1))
  })
  it.each(chained)('of chained failing appends: %s', (which, _body, calls) => {
    expect(unhandled()[chained.findIndex(([name]) => name === which)]).toEqual(calls)
  })
  it('does not arise from a successful call', () => {
    expect(ran(`session.append(user('x')); void session.append(user('y'))`)).toEqual({
      stdout: '2',
      stderr: '',
      status: 0,
    })
  })
})
