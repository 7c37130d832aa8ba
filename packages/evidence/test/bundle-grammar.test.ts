/** The grammar of bundles: our verifier gives the verdict of the table. `go.test.ts` asks the one in Go. */
import { isLeft } from '../../../src/json/index.ts'
import { checkBundle, checkHead, readBundle } from '@indelible/evidence'
import { claimedHead } from '../src/internal.ts'
import { expect, it } from 'vitest'
import { block, bundleCases, bundleText, origin, shortBody, signers, trust } from './bundles.ts'
import { orThrow } from 'indelible'
import { rounds } from '../../../test/rounds.ts'

const notPlain = 'a member is duplicated, out of order, or a number that is not in plain digits'
const sizeAt = (size: string): string => `its second line is "${size}"; expected a size in digits, at most 2^53 - 1`
const noHash = (line: string): string => `${JSON.stringify(line)} is not a hash of 32 bytes in base64`
const rowNot = (index: number, problem: string): string => `row ${index} of the ledger ${problem}`
/** The reason of each fault, with the bundles of the table that it refuses. */
const refusals: { readonly [tag: string]: readonly (readonly [reason: unknown, bundles: readonly string[]])[] } = {
  BadBundle: [
    ['it is not JSON', ['text behind it', 'a mark of byte order']],
    [
      'it is not an evidence bundle',
      [
        'a name in another case',
        'a member more',
        'no version',
        'version 2',
        'null for the blocks',
        'a list for the blocks',
      ],
    ],
    [
      notPlain,
      [
        ...['an inner name in another case', 'an inner member more', 'a member twice', 'an inner member twice'],
        ...['a block twice', 'its blocks in another order', 'members in another order', 'an inner version 2'],
        ...['an entry that is not called a proof', 'a number with a fraction', 'a number with an exponent'],
        ...['a number with a sign', 'minus zero', 'a number beyond 2^53'],
      ],
    ],
    [rowNot(2, 'does not record the head of a session'), ['a ledger row of a removal']],
    [
      rowNot(2, 'is not in canonical form'),
      [
        ...['a ledger row with a member more', 'a ledger row with a member twice', 'a ledger row in another order'],
        ...['a ledger row with white space', 'a ledger row with a fraction'],
      ],
    ],
    [`the proof is for session "s", but the ledger's row is for "t"`, ['a ledger row of another session']],
    ['it does not begin with c2sp.org/tlog-proof@v1', ['another first line']],
    ['it has no index line', ['an index with zeros', 'an index with a sign', 'two extra lines']],
    [noHash('more'), ['an index with a line more']],
    ['its extra line is not base64', ['an extra line that is not base64']],
    [expect.stringMatching(/^"[\w+/]{43}=" is not a hash of 32 bytes/), ['a hash with bits beyond its bytes']],
    [expect.stringMatching(/^"[\w+/]{43}=\\r" is not a hash of 32 bytes/), ['a hash with a carriage return']],
    ['no empty line precedes its checkpoint', ['no checkpoint']],
  ],
  BadProof: [
    [
      'it is not a proof of this library',
      [
        ...[
          'a number as text',
          'null for a salt',
          'null for the path',
          'a lone surrogate in the id',
          'half a pair twice',
        ],
        ...['digits in capitals', 'a hash in capitals', 'a salt in capitals', 'a time that is none'],
        'a time with a fraction',
      ],
    ],
    ['the message is not at row 4 of the record with that head', ['a hash too many', 'a hash too few']],
    [
      `block ${block} is missing or is not what was appended`,
      [
        ...['a missing block', 'a block that is another', 'a block with bits beyond its bytes'],
        'a block with a line feed',
      ],
    ],
    [expect.stringMatching(/^block ae44\w+ does not belong to the message$/), ['a block that nothing names']],
    [`block ${'ab'.repeat(32)} does not belong to the message`, ['a block that nothing names, and is not its digest']],
    [
      'the row is not a stored message',
      [
        ...['a row that is no message', 'an unknown page kind', 'a kind in another case', 'two kinds'],
        ...['a member more before the message', 'white space before the message'],
        'a block that is neither text nor base64',
      ],
    ],
    ['the row is not in the form that this library writes', ['an empty list of blocks', 'a key of a block']],
    [expect.stringContaining('content[1].text is not an empty string'), ['a block whose path leads nowhere']],
    [
      expect.stringContaining('content[0].text is not an empty string'),
      ['a block whose path leads to another text', 'two blocks for one text'],
    ],
    [expect.stringMatching(/^it leads to the head 11 \w{64}, not to 12 \w{64}$/), ['a ledger row of another head']],
  ],
  NotALedger: [
    ['its row 2 names no session and head', ['a ledger row with a name in another case']],
    ['its row 2 is not a JSON object', ['a ledger row that is none']],
  ],
  BadCheckpoint: [
    ['its origin is "example.com/other", expected "example.com/agents"', ['another origin']],
    [sizeAt('05'), ['a size with zeros']],
    [sizeAt('9007199254740993'), ['a size beyond 2^53']],
    ['its third line is not a root in base64', ['a root with bits beyond its bytes']],
    ['its root is not a SHA-256', ['a root of 31 bytes']],
    ['one of its lines is empty', ['an empty line']],
  ],
  BadNote: [
    ['it is not valid UTF-8, or contains a control character', ['a control character']],
    ['it does not end with a signature line', ['no last line feed', 'an empty line behind the signatures']],
    ['it has 101 signatures; at most 100 are allowed', ['101 signatures']],
    [
      expect.stringMatching(/ is not a signature line$/),
      [
        ...['a line that is no signature', 'two spaces in a signature line', 'a hyphen for the dash'],
        ...['a stranger with a plus in the name', 'a stranger with a space of another kind'],
        ...['a stranger with a mark of byte order', 'a stranger with a control character'],
        'a stranger with a short signature',
      ],
    ],
  ],
  NotSigned: [[undefined, ['a signature by a stranger alone']]],
  TooFewWitnesses: [[undefined, ['no witness']]],
  BadSignature: [
    [
      undefined,
      [
        ...['a second signature that does not fit', 'a signature whose S is too large'],
        ...['a signature that holds only with the cofactor', 'a witness from beyond all time'],
      ],
    ],
  ],
}

it('checkBundle accepts the good bundles of the table, and refuses each other one for its own reason', () => {
  const expected = new Map(
    Object.entries(refusals).flatMap(([tag, reasons]) =>
      reasons.flatMap(([reason, names]) => names.map((name) => [name, [tag, reason]] as const)),
    ),
  )
  const verdicts = bundleCases.map(([name, , edits]) => {
    const bundle = readBundle(bundleText(edits))
    const checked = isLeft(bundle) ? bundle : checkBundle(bundle.right, trust)
    if (!isLeft(checked)) return [name, 'good']
    return [name, [checked.left._tag, 'reason' in checked.left ? checked.left.reason : undefined]]
  })
  expect(verdicts).toEqual(bundleCases.map(([name, good]) => [name, good ? 'good' : expected.get(name)]))
})

it('a good bundle gives exactly what it proves, frozen, and its ledger part the head', () => {
  const text = bundleText({ made: (made) => Object.assign(made, { body: shortBody, blocks: {} }) })
  const bundle = orThrow(readBundle(text))
  expect(bundle).toEqual(JSON.parse(text))
  const checked = orThrow(checkBundle(bundle, trust))
  const { head, at, row } = bundle.entry
  const [signer, witness] = [signers.log, signers.witness]
  const root = Buffer.from(bundle.ledger.proof.split('\n\n')[1]?.split('\n')[2] as string, 'base64').toString('hex')
  const checkpoint = { origin, head: { size: 5, root }, extensions: [] }
  const signed = {
    ...{ ...checkpoint, signedBy: [signer.name] },
    witnessed: [{ name: witness.name, keyId: witness.keyId, at: 1_700_000_000_000 }],
  }
  const message = { role: 'user', content: [{ type: 'text', text: 'hello' }] }
  const proven = { session: 's', head, row, at, page: 'conversation', message }
  expect(checked).toEqual({ ...proven, checkpoint: signed, recorded: at + 1 })
  const headed = orThrow(checkHead(bundle.ledger, trust))
  const claimed = orThrow(claimedHead(bundle.ledger))
  expect(headed).toEqual({ session: 's', head, checkpoint: signed, recorded: at + 1 })
  expect(claimed).toEqual({ session: 's', head, checkpoint, recorded: at + 1 })
  for (const one of [checked, headed, claimed]) expect(Object.isFrozen(one)).toBe(true)
})

it.each<[string, (ledger: { [name: string]: unknown }) => unknown]>([
  ['null', () => null],
  ['a text', () => 'none'],
  ['a member more', (ledger) => ({ ...ledger, more: 1 })],
  ['no body', ({ at, proof }) => ({ at, proof })],
  ['half a surrogate in its body', (ledger) => ({ ...ledger, body: '\ud800' })],
  ['no proof', ({ at, body }) => ({ at, body })],
  ['half a surrogate in its proof', (ledger) => ({ ...ledger, proof: '\ud800' })],
  ['no time', ({ body, proof }) => ({ body, proof })],
  ['a time that is none', (ledger) => ({ ...ledger, at: 8.64e15 + 1 })],
])('a proof of a head with %s is refused', (_, change) => {
  const { ledger } = JSON.parse(bundleText()) as { ledger: { [name: string]: unknown } }
  const reason = 'it is not a ledger proof'
  expect(checkHead(change(ledger), trust)).toEqual({ _tag: 'Left', left: { _tag: 'BadBundle', reason } })
  expect(claimedHead(change(ledger))).toEqual({ _tag: 'Left', left: { _tag: 'BadBundle', reason } })
})

it('a proof of a head that leads elsewhere is refused with the row', () => {
  const { ledger } = JSON.parse(bundleText()) as { ledger: { at: number } }
  const reason = 'the row is not row 2 of the ledger with that checkpoint'
  expect(checkHead({ ...ledger, at: ledger.at + 1 }, trust)).toEqual({
    ...{ _tag: 'Left', left: { _tag: 'BadBundle', reason } },
  })
})

it('readBundle refuses what is no text with the reason', () => {
  expect(readBundle(5 as never)).toMatchObject({ left: { _tag: 'BadBundle', reason: 'it is not a text' } })
})

it.each(['x', '\\"', ' '])('readBundle reads millions of %j in a bundle', (many) => {
  const inside = many.repeat(rounds(16_000_000 / many.length, 16_000_000))
  const text =
    many === ' ' ? bundleText({ text: (json) => `${json}${inside}` }) : bundleText().replace('"s"', `"${inside}"`)
  expect(readBundle(text)._tag).toBe('Right')
})
