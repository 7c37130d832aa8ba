/** The sentences of the faults of refs. */
import { expect, it } from 'vitest'
import { refsFaultMessage, type RefsFault } from '@indelible/workflows/refs'
import type { StoreFault } from 'indelible/store'

const id = 'ab'.repeat(32) as never
const other = 'cd'.repeat(32) as never

it.each<readonly [RefsFault | StoreFault, string]>([
  [
    { _tag: 'MalformedBlock', position: 3, id, reason: 'is not JSON' },
    `block ${id} of the message at position 3 is not JSON; the ref was not made from this block: check where the ref comes from`,
  ],
  [
    { _tag: 'OtherScope', expected: 'a', found: 'b' },
    'the refs belong to the scope "b", but the store is open for "a": open that scope with store.scoped',
  ],
  [
    { _tag: 'UnreadableHistory', path: [], expected: 'a list', found: 'a number' },
    'the saved history should be a list, found a number',
  ],
  [
    { _tag: 'UnreadableHistory', path: ['refs', 0, 'role'], expected: 'a role', found: 'nothing' },
    'refs[0].role should be a role, found nothing',
  ],
  [
    { _tag: 'NewerRefs', found: 4, supported: 3 },
    'the refs were written by a newer version of this library (format 4; this one knows 3): update the library',
  ],
  [
    { _tag: 'MalformedTree', id, reason: 'is not JSON' },
    `block ${id} of a tree of refs is not JSON; growRefTree did not make this tree: check where its reference comes from`,
  ],
  [
    { _tag: 'MissingKeys', keys: ['a', 'b'] },
    'the store has no value for 2 of the keys, the first "a": check that the store and keyOf are the right ones',
  ],
  [
    { _tag: 'MalformedContent', key: 'a', path: [], expected: 'JSON', found: 'a text' },
    '"a" should be JSON, found a text',
  ],
  [
    { _tag: 'MalformedContent', key: 'a', path: ['content', 0], expected: 'a part', found: 'a text' },
    '"a", content[0] should be a part, found a text',
  ],
  [
    { _tag: 'MissingBlock', ids: [id] },
    `1 block is not in this scope of the store, the first ${id}; nothing was stored or changed: store the content again, or check the scope`,
  ],
  [
    { _tag: 'MissingBlock', ids: [other, id] },
    `2 blocks are not in this scope of the store, the first ${other}; nothing was stored or changed: store the content again, or check the scope`,
  ],
])('a fault of refs says what happened, where, and what to do next: %o', (fault, text) => {
  expect(refsFaultMessage(fault)).toBe(text)
})
