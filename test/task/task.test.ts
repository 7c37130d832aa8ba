/** Tasks: what awaiting and calling them gives, and who is told of those that never ran. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import * as TE from 'fp-ts/lib/TaskEither.js'
import { createSession, FaultError, faultMessage, memoryStore, openSession, orThrow, settle, user } from 'indelible'
import { describe, expect, it } from 'vitest'
import { taskOf } from '../../src/task/index.ts'
import { root } from '../../scripts/run.ts'

interface Odd {
  readonly _tag: 'Odd'
  readonly number: number
}

const numbers = taskOf<Odd>(({ number }) => `${number} is odd`)

/** A task that counts how often it runs, and is a failure every second time from the first on. */
const counting = (from: number) => {
  const runs = { count: 0 }
  const task = numbers(async (): Promise<Either<Odd, number>> => {
    const number = from + runs.count++
    return number % 2 === 1 ? left({ _tag: 'Odd', number }) : right(number)
  })
  return { runs, task }
}

describe('a task', () => {
  it('does nothing before it is asked', async () => {
    const { runs } = counting(0)
    await Promise.resolve()
    expect(runs.count).toBe(0)
  })
  it('runs at each call, and gives an Either', async () => {
    const { runs, task } = counting(1)
    expect(await task()).toEqual(left({ _tag: 'Odd', number: 1 }))
    expect(await task()).toEqual(right(2))
    expect(runs.count).toBe(2)
  })
  it('runs once however often it is awaited', async () => {
    const { runs, task } = counting(2)
    expect([await task, await task, ...(await Promise.all([task, task]))]).toEqual([2, 2, 2, 2])
    expect(runs.count).toBe(1)
  })
  it('throws a FaultError where it is awaited: the fault, its sentence, and the place', async () => {
    const { task } = counting(1)
    const thrown = await (async () => await task)().catch((error: unknown) => error)
    expect(thrown).toBeInstanceOf(FaultError)
    expect(thrown).toBeInstanceOf(Error)
    expect(thrown).toMatchObject({ name: 'FaultError', message: '1 is odd', fault: { _tag: 'Odd', number: 1 } })
  })
  it('an await that failed stays failed; a call runs again', async () => {
    const { runs, task } = counting(1)
    await expect(async () => await task).rejects.toThrow('1 is odd')
    await expect(async () => await task).rejects.toThrow('1 is odd')
    expect(await task()).toEqual(right(2))
    await expect(async () => await task).rejects.toThrow('1 is odd')
    expect(runs.count).toBe(2)
  })
  it('is a TaskEither to fp-ts', async () => {
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
  it('gives what an Either holds, or throws its fault', () => {
    expect(orThrow(settle([user('a')])).length).toBe(1)
    expect(() => orThrow(left({ _tag: 'LogExists', id: 'x' } as const))).toThrow(
      'the store already has a session or log "x"',
    )
  })
  it('runs a pipeline, and gives its value', async () => {
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
  it('throws what is no fault of the library, too', () => {
    for (const [fault, message] of [
      ['mine', 'mine'],
      [{ _tag: 'Mine' }, 'Mine'],
      [new Error('other'), 'other'],
      [null, 'null'],
      [{ _tag: 3 }, '3'],
      [Object.create(null), 'a value that has no text'],
    ] as const)
      expect(() => orThrow(left(fault))).toThrow(message)
  })
})

describe('catch and finally', () => {
  it('run the task once, as an await does, and give what a promise gives', async () => {
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

describe('the plain way', () => {
  it('is to await', async () => {
    const session = await createSession(memoryStore(), { id: 's' })
    const { from, to } = await session.append([user('hello'), user('again')])
    expect([from, to, session.len]).toEqual([0, 2, 2])
    await expect(async () => await session.append({ role: 'user' } as never)).rejects.toThrow(FaultError)
    expect(session.len).toBe(2)
  })
})

describe('a task that was never run', () => {
  /** A script that waits for the collector, or one that ends at once. */
  const script = (body: string, waits: boolean): string => `
    import { createSession, memoryStore, user } from ${JSON.stringify(join(root, 'src/index.ts'))}
    const session = await createSession(memoryStore())
    ${body}
    for (let round = 0; round < ${waits ? 20 : 0}; round++) { gc(); await new Promise((resolve) => setTimeout(resolve, 5)) }
    console.log(session.len)`
  const told = (body: string, env: { readonly [name: string]: string } = {}, waits = true) => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--expose-gc', '--input-type=module', '--eval', script(body, waits)],
      { encoding: 'utf8', env: { ...process.env, NODE_ENV: 'development', ...env } },
    )
    return { stdout: stdout.trim(), stderr }
  }
  const forgotten = `for (let count = 0; count < 3; count++) void session.append(user('x'))`
  it('is told of once, by the name of the call', () => {
    const { stdout, stderr } = told(forgotten)
    expect(stdout).toBe('0')
    expect(stderr.match(/session\.append\(…\) was called and its task never ran/g)).toHaveLength(1)
  })
  it('is told of when a short script ends, also where something still holds it', () => {
    const { stdout, stderr } = told(
      `globalThis.kept = session.append(user('x')); await session.append(user('y'))`,
      {},
      false,
    )
    expect(stdout).toBe('1')
    expect(stderr.match(/session\.append\(…\) was called and its task never ran/g)).toHaveLength(1)
    expect(told(forgotten, { NODE_ENV: 'production' }, false).stderr).toBe('')
    expect(told(`await session.append(user('x')).catch(() => {})`, {}, false)).toEqual({ stdout: '1', stderr: '' })
  })
  it('is not told of in production, nor where it ran, nor where it changes nothing', () => {
    expect(told(forgotten, { NODE_ENV: 'production' }).stderr).toBe('')
    expect(told(`await session.append(user('x')); await session.append(user('y'))(); void session.refresh()`)).toEqual({
      stdout: '2',
      stderr: '',
    })
  })
})
