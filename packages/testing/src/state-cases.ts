/** States: a text stored beside a log, deleted with the log and with each erased row. A store may have none. */
import type { LogStates, Store } from 'indelible/store'
import { valueOrThrow, faultOf, mustEqual } from './check.ts'
import { add, canErase, entry, createLogWith } from './rows.ts'
import type { StoreCases } from './store-cases.ts'

const casesWithStates = (
  cases: Readonly<Record<string, (store: Store, states: LogStates) => Promise<void>>>,
): StoreCases =>
  Object.fromEntries(
    Object.entries(cases).map(([title, work]) => [
      title,
      async (store) => {
        if (store.states !== undefined) await work(store, store.states)
      },
    ]),
  )

export const stateCases: StoreCases = casesWithStates({
  'a state is the last text written beside its log': async (store, states) => {
    await createLogWith(store, 'a', [entry('one')])
    mustEqual(await valueOrThrow(states.read('a')), undefined)
    const { head } = await valueOrThrow(store.info('a'))
    for (const text of ['first', 'sécond 🙂', '']) {
      await valueOrThrow(states.write('a', text))
      mustEqual(await valueOrThrow(states.read('a')), text)
    }
    await add(store, 'a', [entry('two')])
    mustEqual(await valueOrThrow(states.read('a')), '')
    mustEqual((await valueOrThrow(store.read('a'))).length, head.size + 1)
    await faultOf('NoSuchLog', states.read('b'))
    await faultOf('NoSuchLog', states.write('b', 'text'))
    mustEqual(await valueOrThrow(store.check()), [], 'what a check finds')
  },
  'a state is neither in a fork nor in a later log with the same id': async (store, states) => {
    await createLogWith(store, 'a', [entry('one'), entry('two')])
    await valueOrThrow(states.write('a', 'text'))
    await valueOrThrow(store.fork('a', { id: 'fork', at: 1 }))
    mustEqual(await valueOrThrow(states.read('fork')), undefined)
    await valueOrThrow(store.remove('a'))
    await faultOf('NoSuchLog', states.read('a'))
    await createLogWith(store, 'a', [entry('other')])
    mustEqual(await valueOrThrow(states.read('a')), undefined)
  },
  'erasing a row removes the states of all logs that share it, and no others': async (store, states) => {
    if (!(await canErase(store))) return
    await createLogWith(store, 'a', [entry('one'), entry('two'), entry('three')])
    await valueOrThrow(store.fork('a', { id: 'fork', at: 2 }))
    await add(store, 'fork', [entry('its own')])
    await createLogWith(store, 'other', [entry('one')])
    const erase = async (id: string, position: number): Promise<void> => {
      const { head } = await valueOrThrow(store.info(id))
      const rows = [{ position, stub: '"gone"' }]
      await valueOrThrow(store.erase({ logs: [{ id, expected: head, rows }], reason: 'asked to', by: 'ann' }))
    }
    for (const id of ['a', 'fork', 'other']) await valueOrThrow(states.write(id, `of ${id}`))
    await erase('fork', 2)
    mustEqual(await valueOrThrow(states.read('fork')), undefined)
    mustEqual(await valueOrThrow(states.read('a')), 'of a')
    await valueOrThrow(states.write('fork', 'again'))
    await erase('a', 0)
    mustEqual(await valueOrThrow(states.read('a')), undefined)
    mustEqual(await valueOrThrow(states.read('fork')), undefined)
    mustEqual(await valueOrThrow(states.read('other')), 'of other')
  },
})
