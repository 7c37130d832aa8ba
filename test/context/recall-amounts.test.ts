/** Amounts that are none are mistakes of the program. `around: Infinity` used to hold up the event loop for ever. */
import { expect, it } from 'vitest'
import { createHistory, user, type Message } from 'indelible'
import { recall } from 'indelible/context'

it('recall accepts any amount of surrounding messages and refuses invalid numbers', () => {
  const history = createHistory<Message>()
  for (const text of ['foo', 'one', 'two']) history.append(user(text))
  const found = recall(history.view(), { query: 'foo' }, { around: Infinity })
  expect(found).toMatchObject({ right: [{ around: [{ position: 1 }, { position: 2 }] }] })
  for (const bad of [NaN, -1, 0.5])
    for (const options of [{ limit: bad }, { around: bad }])
      expect(() => recall(history.view(), { query: 'foo' }, options)).toThrow(TypeError)
})
