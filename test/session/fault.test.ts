/** The sentences of a session's faults, where they depend on what the fault has. */
import { expect, it } from 'vitest'
import { faultMessage, type Fault } from 'indelible'

const head = { size: 1, root: 'a'.repeat(64) }
const erased = 'its text can no longer be proven; proveErased proves that it existed and was erased'

const sentences: readonly (readonly [fault: object, sentence: string])[] = [
  [
    { _tag: 'SessionConflict', id: 's', len: 3, expectedLen: 2, notes: [], missed: [] },
    'another writer appended to session "s" first: it has 3 messages, and 2 were expected; nothing was appended: read `fault.missed` and append again, or fork the session at 2',
  ],
  ...(
    [
      [[1], '1 new note'],
      [[1, 2], '2 new notes'],
    ] as const
  ).map(
    ([notes, said]) =>
      [
        { _tag: 'SessionConflict', id: 's', len: 2, expectedLen: 2, notes, missed: [] },
        `session "s" has ${said} since you read its 2 messages; nothing was appended: read the conversation again, and retry`,
      ] as const,
  ),
  ...(
    [
      [0, '0 messages'],
      [1, '1 message'],
      [2, '2 messages'],
    ] as const
  ).flatMap(([len, said]) => [
    [
      { _tag: 'SessionGap', id: 's', len, expectedLen: 9 },
      `session "s" has ${said}, so nothing can be appended at 9: append the messages between them first`,
    ] as const,
    [
      { _tag: 'SessionSealed', id: 's', len },
      `session "s" is sealed at ${said} and takes no more appends: fork it to continue`,
    ] as const,
  ]),
  ...(
    [
      [1, '1 row'],
      [2, '2 rows'],
    ] as const
  ).map(
    ([rows, said]) =>
      [
        { _tag: 'UnfinishedSession', id: 's', rows },
        `"s" is an unfinished copy with ${said} so far; the copy is still running or was interrupted: run it again, or remove the session`,
      ] as const,
  ),
  [{ _tag: 'MessageErased', id: 's', position: 4 }, `message 4 of "s" was erased: ${erased}`],
  [
    { _tag: 'MessageErased', id: 's', position: 4, at: 0, by: 'ada', reason: 'a request' },
    `message 4 of "s" was erased at 1970-01-01T00:00:00.000Z by "ada" (a request): ${erased}`,
  ],
  [
    { _tag: 'OtherHead', id: 's', found: head.root, expected: 'b' },
    `the imported record has the head ${head.root}, but the export states b: the file was changed; nothing was imported: get the original file`,
  ],
  [
    { _tag: 'OtherHead', id: 's', found: 'a', expected: 'b', copied: true },
    '"s" can\'t be copied: it has a row that is not in the form that this version writes, so its copy would have the head a, not b; the copy is not complete: copy the whole store instead, for example with "indelible backup"',
  ],
]

it.each(sentences)('the fault %j has a sentence of its own', (fault, sentence) => {
  expect(faultMessage(fault as unknown as Fault)).toBe(sentence)
})
