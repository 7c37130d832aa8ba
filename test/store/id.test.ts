import { faultMessage, memoryStore } from 'indelible'
import { expect, it } from 'vitest'
import { fault } from '../task-results.ts'

it.each([
  ['a\nb', 'invalid session or log id: "a\\nb" has a control character at 1'],
  ['a\ud83d', 'invalid session or log id: "a\\ud83d" has a lone surrogate'],
  ['é'.repeat(128), 'invalid session or log id: it is longer than 255 bytes'],
  ['', 'invalid session or log id: it is empty'],
])('the fault for an invalid id shows the reason: %j', async (id, text) => {
  expect(faultMessage(await fault('InvalidId', memoryStore().info(id)))).toBe(
    `${text}; an id is 1 to 255 bytes of UTF-8 without control characters`,
  )
})
