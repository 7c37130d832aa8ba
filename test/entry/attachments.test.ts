/** The blocks that a message names as images and files. */
import { expect, it } from 'vitest'
import { file, image, text, toolResult, user } from 'indelible'
import { attachedTo, mayHaveAttachments } from '../../src/entry/internal.ts'
import type { BlockId } from '../../src/proof/internal.ts'

const [a, b] = ['a', 'b'].map((digit) => digit.repeat(64)) as [BlockId, BlockId]
const picture = image({ type: 'block', id: a, mediaType: 'image/png' })
const paper = file({ type: 'block', id: b, mediaType: 'application/pdf' })
const elsewhere = image({ type: 'url', url: 'https://example.com/a.png' })

it.each([
  ['has none of what stands elsewhere', user(text('hi'), elsewhere), []],
  ['has each once, in its order', user(paper, picture, paper), [b, a]],
  ['has those in the results of tools', toolResult('c', [text('look'), picture]), [a]],
])('an attachment list %s', (_, message, ids) => {
  expect(attachedTo(message)).toEqual(ids)
})

it.each([
  ['as this library writes it', JSON.stringify(user(paper)), true],
  ['in the result of a tool', JSON.stringify(toolResult('c', [text('look'), picture])), true],
  ['with spaces', JSON.stringify(user(picture), null, 2), true],
  ['with a letter that is escaped', JSON.stringify(user(picture)).replace('"block"', '"bl\\u006fck"'), true],
  ['without an attachment', JSON.stringify(user(text('a\u0001 "block"'), elsewhere)), false],
])('mayHaveAttachments decides from the JSON text: %s', (_, written, may) => {
  expect(mayHaveAttachments(written)).toBe(may)
  expect(attachedTo(JSON.parse(written)).length > 0).toBe(may)
})
