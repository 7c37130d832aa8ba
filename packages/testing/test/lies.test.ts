/**
 * The contract suite against stores that lie once: an answer is a fault, or has another value at one place, and the case
 * should fail. lies.txt has the lies that each case believes: `x` is one, `.` one that it detects, for each call a fault and
 * four values. When a check goes there are more: look at the case, and only then write the file anew (`--update`, with
 * `INDELIBLE_ROUNDS=full`, because a short run tells a third of the lies).
 */
import { readFileSync } from 'node:fs'
import * as either from 'fp-ts/lib/Either.js'
import { expect, it, vi } from 'vitest'
import { assistant, orThrow, toolCall, type Store } from 'indelible'
import { scriptedModel, type Model, type ModelEvent } from 'indelible/run'
import { memoryDriver, storeOf } from 'indelible/store/driver'
import { keyValueContract, modelContract, storeContract, type ContractCase, type StorePlace } from '@indelible/testing'
import { storeTask } from '../../../src/store/internal.ts'
import { isFull, oneIn } from '../../../test/rounds.ts'
import { keyValueMap } from '../../../test/store/key-value-map.ts'

const { isLeft, left, right } = either

type Answer = either.Either<unknown, unknown>
/** What a store says in place of its answer to its so manieth call. */
type Lie = (answer: Answer, call: number) => Answer

const methods =
  /^(create|info|list|scopes|update|append|read|nodes|fork|remove|lease|renew|release|requestStop|leaseOf|(put|get|has)Blocks|erase|sharing|containing|check|write)$/
/** More calls than any of the cases makes: who is lied to must not ask for ever. */
const most = 1000

const fault: Answer = left({ _tag: 'Io', operation: 'lie', cause: 'a lie' })

const storeCases = (lie: Lie): readonly ContractCase[] =>
  storeContract('lies', async (): Promise<StorePlace> => {
    const driver = { ...memoryDriver(), close: async () => undefined }
    let call = 0
    const lying = <Methods extends object>(honest: Methods): Methods => {
      const entries = Object.entries(honest).map(([name, method]) => [
        name,
        methods.test(name)
          ? (...given: readonly unknown[]) => {
              const answer: () => Promise<Answer> = method(...given)
              const number = call++
              return storeTask(async () => (number > most ? fault : lie(await answer(), number)) as never, name)
            }
          : method,
      ])
      return Object.fromEntries(entries) as Methods
    }
    const lyingStore = (store: Store): Store => ({
      ...lying(store),
      scoped: (scope) => either.map(lyingStore)(store.scoped(scope)),
    })
    const open = async (scope?: string): Promise<Store> => {
      const store = lyingStore(orThrow(storeOf(driver)))
      return scope === undefined ? store : orThrow(store.scoped(scope))
    }
    return { lasting: true, open }
  })

/** A value as a promise has it: a lie that is a fault rejects. */
const resultOf = (answer: Answer): unknown => {
  if (isLeft(answer)) throw new Error('a lie')
  return answer.right
}

const keyValueCases = (lie: Lie): readonly ContractCase[] =>
  keyValueContract('lies', async () => {
    const honest = keyValueMap()
    let call = 0
    const lying = <Name extends 'mget' | 'putIfAbsent' | 'keys'>(name: Name): (typeof honest)[Name] =>
      (async (...given: [never, never]) => resultOf(lie(right(await honest[name](...given)), call++))) as never
    async function* keys(prefix: string): AsyncGenerator<string> {
      yield* resultOf(lie(right(await honest.keys(prefix)), call++)) as string[]
    }
    return { store: { ...honest, mget: lying('mget'), putIfAbsent: lying('putIfAbsent'), keys } }
  })

const modelCases = (lie: Lie): readonly ContractCase[] =>
  modelContract('lies', async (scene) => {
    const calls = assistant('Reading.', toolCall('c1', 'read', { path: 'a' }), toolCall('c2', 'read', {}))
    const answers = { text: [assistant('Hello, world.')], calls: [calls, calls], cut: [], fails: [], hangs: [] }
    const honest = scriptedModel(answers[scene])
    let call = 0
    const stream: Model['stream'] = async function* (request, signal) {
      const cut = scriptedModel([assistant('Hello, world.')])
      for await (const event of (scene === 'cut' || scene === 'hangs' ? cut : honest).stream(request, signal)) {
        if (event.type === 'finish' && scene === 'cut') throw new Error('cut')
        if (event.type === 'finish' && scene === 'hangs') await new Promise((_, reject) => signal.addEventListener('abort', reject)) // oxfmt-ignore
        yield resultOf(lie(right(event), call++)) as ModelEvent
      }
    }
    return { model: { ...honest, stream } }
  })

/** Another value, frozen: one of its leaves is changed. */
const changed = (value: unknown, pick: number): unknown => {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  if (typeof value === 'string') return `${value.slice(0, -1)}${value.endsWith('0') ? 1 : 0}`
  if (value instanceof Uint8Array) return Uint8Array.of(...value, 1)
  if (Array.isArray(value)) {
    if (value.length === 0) return Object.freeze(['more'])
    const at = pick % value.length
    return Object.freeze(value.with(at, changed(value[at], Math.floor(pick / value.length))))
  }
  if (typeof value !== 'object' || value === null) return 'other'
  const keys = Object.keys(value)
  const key = keys[pick % keys.length] as string
  const members = value as { readonly [key: string]: unknown }
  return Object.freeze({ ...members, [key]: changed(members[key], Math.floor(pick / keys.length)) })
}

/** How many places of a value are changed, one at a time. */
const picks = 4

const slow =
  /thousand|any number|byte for byte|several|random failures|crash|1,000|fifty|every size|text without control|earlier heads|one millisecond|during a read|more rows than|concurrent writers|one kind|slice/

it('each contract case detects exactly the recorded faulty stores and models', async () => {
  // Nobody waits: when nothing else is left to do, the next timer is due, and no result depends on how long anything takes.
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] as const
  vi.useFakeTimers({ toFake: [...toFake], now: 1_700_000_000_000 }).setTimerTickMode('nextTimerAsync')
  // What a case that fails has begun may fail after it.
  const listeners = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', () => undefined)
  const late = (): undefined => undefined
  process.on('rejectionHandled', late)
  const lines: string[] = []
  for (const casesOf of [storeCases, keyValueCases, modelCases]) lines.push(...(await liesOf(casesOf)))
  await new Promise(setImmediate)
  vi.useRealTimers()
  process.removeAllListeners('unhandledRejection').off('rejectionHandled', late)
  for (const listener of listeners) process.on('unhandledRejection', listener)
  if (isFull) await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./lies.txt')
  else {
    const recorded = readFileSync(new URL('lies.txt', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n')
    const told = (line: string, of: string): string => line.replaceAll(/./g, (mark, at: number) => (of[at] === '?' ? '?' : mark)) // oxfmt-ignore
    expect(lines).toEqual(recorded.map((line, index) => told(line, lines[index] ?? '')))
  }
})

/** A line for each case: the lies that it meets. */
const liesOf = async (casesOf: (lie: Lie) => readonly ContractCase[]): Promise<readonly string[]> => {
  const lines: string[] = []
  for (const [index, { name }] of casesOf((answer) => answer).entries()) {
    let calls = 0
    if (slow.test(name)) continue
    await casesOf((answer) => (calls++, answer))[index]?.run()
    if (calls === 0) continue
    const first = calls > 34 ? calls - 3 : 0 // of a long case only the end
    const believes = async (at: number, lie: (answer: Answer) => Answer): Promise<boolean> => {
      const one = casesOf((answer, call) => (call === at ? lie(answer) : answer))[index]
      return one === undefined
        ? false
        : one.run().then(
            () => true,
            () => false,
          )
    }
    const every = oneIn(3)
    const marks: string[] = []
    for (let at = first; at < calls; at++) {
      let mark = ''
      for (let pick = -1; pick < picks; pick++) {
        const lie = (answer: Answer): Answer => {
          if (pick === -1) return fault
          if (isLeft(answer)) return pick === 0 ? right({}) : left(changed(answer.left, pick))
          return right(changed(answer.right, pick))
        }
        if ((at + pick + 1) % every !== 0) mark += '?'
        else mark += (await believes(at, lie)) ? 'x' : '.'
      }
      marks.push(mark)
    }
    lines.push(`${name.slice('lies: '.length)}: ${marks.join(' ')}`)
  }
  return lines
}
