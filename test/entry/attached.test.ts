/** The blocks that a message names as images and files. */
import { expect, it } from 'vitest'
import { file, image, text, toolResult, user } from 'indelible'
import { attachedTo } from '../../src/entry/kit.ts'
import type { BlockId } from '../../src/proof/kit.ts'

const [a, b] = ['a', 'b'].map((digit) => digit.repeat(64)) as [BlockId, BlockId]
const picture = image({ type: 'block', id: a, mediaType: 'image/png' })
const paper = file({ type: 'block', id: b, mediaType: 'application/pdf' })
const elsewhere = image({ type: 'url', url: 'https://example.com/a.png' })

it.each([
  ['has none of what stands elsewhere', user(text('hi'), elsewhere), []],
  ['has each once, in its order', user(paper, picture, paper), [b, a]],
  ['has those in the results of tools', toolResult('c', [text('look'), picture]), [a]],
])('a list of attachments %s', (_, message, ids) => {
  expect(attachedTo(message)).toEqual(ids)
})
