/** Operations in steps: the first fault ends them. */
import { left, right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { fail, need, taskOf, taskOfSteps, untilFault } from '../../src/task/index.ts'

it('steps return their value, or the first fault of a task, a promise or an Either', async () => {
  const done: string[] = []
  const answered = (outcome: unknown) => (done.push('called'), Promise.resolve(outcome as never))
  for (const step of [right(2), Promise.resolve(right(2)), () => answered(right(2))] as const)
    expect(
      await untilFault(async function* () {
        const two: number = yield* need(step as never)
        return two + 1
      }),
    ).toEqual(right(3))
  for (const step of [left('no'), Promise.resolve(left('no')), () => answered(left('no'))] as const)
    expect(
      await untilFault(async function* () {
        try {
          yield* need(step as never)
          done.push('never')
        } finally {
          done.push('finally')
        }
        return 1
      }),
    ).toEqual(left('no'))
  expect(done).toEqual(['called', 'finally', 'finally', 'called', 'finally'])
})

it('steps that fail by themselves end there, and those that begin run at once', async () => {
  const done: string[] = []
  const answer = untilFault(async function* () {
    done.push('begun')
    yield* fail({ _tag: 'Odd', number: 1 })
    done.push('never')
  })
  done.push('after the call')
  expect(await answer).toEqual(left({ _tag: 'Odd', number: 1 }))
  expect(done).toEqual(['begun', 'after the call'])
  const going = fail('no')
  await going.next()
  await expect(going.next()).rejects.toThrow(new Error('steps continued after a fault'))
})

it('a task of steps has the name of its call and the sentence of its fault', async () => {
  const task = taskOfSteps(taskOf<{ readonly _tag: 'Odd' }>(() => 'it is odd'))
  const even = task(async function* () {
    return (yield* need(right(1))) + 1
  }, 'halve')
  expect([await even, await even()]).toEqual([2, right(2)])
  const odd = task(async function* () {
    return yield* fail({ _tag: 'Odd' as const })
  }, 'halve')
  expect(await odd()).toEqual(left({ _tag: 'Odd' }))
  await expect(async () => await odd).rejects.toThrow(/^it is odd$/)
})
