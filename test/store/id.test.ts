import { faultMessage, memoryStore } from 'indelible'
import { expect, it } from 'vitest'
import { fault } from '../answers.ts'

it.each([
  ['a\nb', 'this can\'t be the id of a log: "a\\nb" has a control character at 1'],
  ['a\ud83d', 'this can\'t be the id of a log: "a\\ud83d" has a lone surrogate'],
  ['é'.repeat(128), "this can't be the id of a log: it is longer than 255 bytes"],
  ['', "this can't be the id of a log: it is empty"],
])('the fault of a bad id shows what is wrong with it: %j', async (id, text) => {
  expect(faultMessage(await fault('InvalidId', memoryStore().info(id)))).toBe(text)
})
