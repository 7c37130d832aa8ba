/**
 * Bundles by hand: each stage can be changed before the next one hashes or signs it, so that what a verifier refuses is the
 * grammar and not a digest. And a table of such bundles with the verdict that every verifier has to give.
 */
import { ed25519, ED25519_TORSION_SUBGROUP } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'
import { newKey, rotation, signerOf, type NoteSigner, type Trust } from '../src/index.ts'
import { checkpointText, noteText, tlogProofText, type NoteSignature } from '../src/internal.ts'
import { blockIdOf, portableSha256, treeRoot } from '../../../src/proof/internal.ts'
import type { Head } from 'indelible/store'
import { rowLeaf } from '../../../src/store/internal.ts'
import { inclusionProof } from '../../../test/proof/whole-tree.ts'
import { orThrow } from 'indelible'

const seed = (number: number): Uint8Array => new Uint8Array(32).fill(number)
const now = 1_700_000_000_000

export const origin = 'example.com/agents'
const log = newKey(origin, 'log', seed(1))
const witness = newKey('witness.example/1', 'witness', seed(2))
const stranger = newKey('other.example', 'log', seed(3))
export const keys: readonly string[] = [log.vkey, witness.vkey]
export const trust: Trust = { origin, keys: [log.vkey], witnesses: [witness.vkey], quorum: 1 }
export const signers: Readonly<Record<'log' | 'witness' | 'stranger', NoteSigner>> = {
  log: orThrow(signerOf(log.skey)),
  witness: orThrow(signerOf(witness.skey, () => now)),
  stranger: orThrow(signerOf(stranger.skey)),
}

/** What a bundle is made of. */
export interface BundleParts {
  session: string
  /** The body of the message's row. */
  body: string
  at: number
  salt: string | undefined
  blocks: { [id: string]: string }
  /** Where the message stands among how many rows. */
  place: readonly [row: number, size: number]
  /** Where the head stands in the ledger. */
  said: readonly [row: number, size: number]
  saidAt: number
}

type Sign = (signer: NoteSigner) => NoteSignature

/** A change of each stage. */
export interface Edits {
  readonly made?: (made: BundleParts) => void
  /** The body of the ledger's row. */
  readonly ledgerBody?: (body: string) => string
  /** The text that is signed. */
  readonly checkpoint?: (text: string) => string
  readonly signatures?: (signatures: NoteSignature[], sign: Sign, text: string) => NoteSignature[]
  readonly note?: (note: string) => string
  /** The tlog-proof without its checkpoint, and with it. */
  readonly proof?: (proof: string) => string
  /** The bundle, as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- every shape is tried
  readonly bundle?: (bundle: any) => void
  readonly text?: (text: string) => string
}

const long = Buffer.from('a long text, '.repeat(400)).toString('base64')
export const block: string = blockIdOf(Buffer.from(long, 'base64'), portableSha256)

/** The body of a row: a message with a long text in a block, and a short one. */
export const longBody: string = `{"page":"conversation","blocks":[{"path":["content",0,"text"],"id":"${block}","as":"utf8"}],"message":{"role":"user","content":[{"type":"text","text":""}]}}`
export const shortBody = '{"page":"conversation","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}'

const leafOf = (number: number): Uint8Array => portableSha256(Uint8Array.of(7, number >> 8, number & 255))

const inTree = (
  leaf: Uint8Array,
  [row, size]: readonly [number, number],
): { head: Head; path: readonly Uint8Array[] } => {
  const leaves = Array.from({ length: size }, (_, at) => (at === row ? leaf : leafOf(at)))
  return { head: { size, root: bytesToHex(treeRoot(leaves, portableSha256)) }, path: inclusionProof(row, leaves) }
}

/** The text of a bundle. */
export const bundleText = (edits: Edits = {}): string => {
  const made: BundleParts = {
    ...{ session: 's', body: longBody, at: now, salt: 'ab'.repeat(16), blocks: { [block]: long } },
    ...{ place: [4, 11], said: [2, 5], saidAt: now + 1 },
  }
  edits.made?.(made)
  const { session, body, at, salt, blocks } = made
  const row = { kind: 'entry' as const, body, at, ...(salt !== undefined && { salt }) }
  const entry = inTree(rowLeaf(row, portableSha256), made.place)
  const output = JSON.stringify({ type: 'head', id: session, size: entry.head.size, root: entry.head.root })
  const ledgerBody = edits.ledgerBody?.(output) ?? output
  const ledger = inTree(rowLeaf({ kind: 'note', body: ledgerBody, at: made.saidAt }, portableSha256), made.said)
  const plain = checkpointText({ origin, head: ledger.head })
  const text = edits.checkpoint?.(plain) ?? plain
  const sign = ({ name, keyId, sign: signed }: NoteSigner): NoteSignature => ({
    ...{ name, keyId, signature: signatureOf(keyId, text, signed) },
  })
  const both = [sign(signers.log), sign(signers.witness)]
  const written = noteText({ text, signatures: edits.signatures?.(both, sign, text) ?? both })
  const note = edits.note?.(written) ?? written
  const proven = tlogProofText({ index: made.said[0], path: ledger.path, checkpoint: note })
  const proof = edits.proof?.(proven) ?? proven
  const bundle = {
    ...{ indelible: 'evidence', version: 1 },
    entry: {
      ...{ indelible: 'proof', version: 1, session, row: made.place[0], body, at, ...(salt !== undefined && { salt }) },
      ...{ blocks, head: entry.head, path: entry.path.map(bytesToHex) },
    },
    ledger: { body: ledgerBody, at: made.saidAt, proof },
  }
  edits.bundle?.(bundle)
  const json = JSON.stringify(bundle)
  return edits.text?.(json) ?? json
}

const inText = (from: string | RegExp, to: string): Edits => ({ text: (text) => text.replace(from, to) })
const withBody = (body: string, blocks: BundleParts['blocks'] = {}): Edits => ({
  made: (made) => void Object.assign(made, { body, blocks }),
})
const otherBlock = Buffer.from('another').toString('base64')
const otherId = blockIdOf(Buffer.from('another'), portableSha256)
const twoBody = `{"page":"conversation","blocks":[${[block, otherId]
  .map((id, at) => `{"path":["content",${at},"text"],"id":"${id}","as":"utf8"}`)
  .join()}],"message":{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":""}]}}`
const twoBlocks = Object.entries({ [block]: long, [otherId]: otherBlock }).toSorted(([a], [b]) => (a < b ? -1 : 1))
/** Base64 of the same bytes with bits beyond them. */
const loose = (base64: string): string =>
  base64.replace(/(.)(=+)$/, (_, last: string, pad: string) => `${String.fromCharCode(last.charCodeAt(0) + 1)}${pad}`)

/** Each bundle with its verdict. */
export const bundleCases: readonly (readonly [name: string, good: boolean, edits: Edits])[] = [
  ['as it is made', true, {}],
  ['without a salt', true, { made: (made) => void (made.salt = undefined) }],
  ['a message without blocks', true, withBody(shortBody)],
  ['a message with two blocks', true, withBody(twoBody, Object.fromEntries(twoBlocks))],
  ['its blocks in another order', false, withBody(twoBody, Object.fromEntries(twoBlocks.toReversed()))],
  ['a tagged message', true, withBody(shortBody.replace('page', 'tag').replace('conversation', 'constraint'))],
  ['the only row of the only session', true, { made: (made) => Object.assign(made, { place: [0, 1], said: [0, 1] }) }],
  ['a session of 1,000 rows', true, { made: (made) => Object.assign(made, { place: [999, 1000], said: [255, 300] }) }],
  [
    'an id with quotes and other letters',
    true,
    { made: (made) => void (made.session = 'a "b" \\ \u00e9 \u2028 \u{1f600}') },
  ],
  ['a time before 1970', true, { made: (made) => void (made.at = -1) }],
  ['the last time', true, { made: (made) => void (made.at = 8.64e15) }],
  ['white space', true, { text: (text) => `\n${JSON.stringify(JSON.parse(text), undefined, '\t')}\r\n ` }],
  ['escaped letters', true, { text: (text) => text.replace('"evidence"', '"\\u0065vidence"') }],
  ['an extension line', true, { checkpoint: (text) => `${text}${rotation(stranger.vkey)}\n` }],
  ['a signature by a stranger', true, { signatures: (all, sign) => [...all, sign(signers.stranger)] }],
  ['the same signature twice', true, { signatures: (all) => [...all, ...all] }],
  ['the witness first', true, { signatures: (all) => all.toReversed() }],
  ['an extra line', true, { proof: (proof) => proof.replace('\nindex', '\nextra AAAA\nindex') }],
  ['an empty extra line', true, { proof: (proof) => proof.replace('\nindex', '\nextra \nindex') }],
  // The text of the bundle.
  ['a name in another case', false, inText('"entry"', '"Entry"')],
  ['an inner name in another case', false, inText('"session"', '"Session"')],
  ['a member more', false, inText('"version":1', '"version":1,"more":1')],
  ['an inner member more', false, inText('"session"', '"more":1,"session"')],
  ['a member twice', false, inText('"version":1', '"version":1,"version":1')],
  ['an inner member twice', false, inText('"row":4', '"row":4,"row":4')],
  ['a block twice', false, { text: (text) => text.replace(`"${block}":"`, `"${block}":"AAAA","${block}":"`) }],
  [
    'members in another order',
    false,
    { text: (text) => text.replace('"indelible":"evidence","version":1', '"version":1,"indelible":"evidence"') },
  ],
  ['no version', false, inText('"version":1,', '')],
  ['version 2', false, inText('"version":1,', '"version":2,')],
  ['an inner version 2', false, inText('"proof","version":1,', '"proof","version":2,')],
  ['an entry that is not called a proof', false, inText('"indelible":"proof","version":1,', '')],
  ['a number with a fraction', false, inText('"row":4', '"row":4.0')],
  ['a number with an exponent', false, inText('"row":4', '"row":4e0')],
  ['a number with a sign', false, inText('"version":1', '"version":1E0')],
  [
    'minus zero',
    false,
    { made: (made) => Object.assign(made, { place: [0, 3] }), text: (text) => text.replace('"row":0', '"row":-0') },
  ],
  ['a number as text', false, inText('"row":4', '"row":"4"')],
  ['a number beyond 2^53', false, inText('"row":4', '"row":9007199254740993')],
  ['null for a salt', false, inText(/"salt":"\w+"/, '"salt":null')],
  [
    'null for the blocks',
    false,
    { made: (made) => void (made.body = shortBody), bundle: (bundle) => (bundle.entry.blocks = null) },
  ],
  [
    'null for the path',
    false,
    { made: (made) => void (made.place = [0, 1]), bundle: (bundle) => (bundle.entry.path = null) },
  ],
  [
    'a list for the blocks',
    false,
    { made: (made) => void (made.body = shortBody), bundle: (bundle) => (bundle.entry.blocks = []) },
  ],
  ['text behind it', false, { text: (text) => `${text}{}` }],
  ['a mark of byte order', false, { text: (text) => `\ufeff${text}` }],
  [
    'a lone surrogate in the id',
    false,
    { made: (made) => void (made.session = 'a\ufffd'), text: (text) => text.replace('"a\ufffd"', '"a\\ud800"') },
  ],
  [
    'half a pair twice',
    false,
    {
      made: (made) => void (made.session = 'a\ufffd\ufffd'),
      text: (text) => text.replace('"a\ufffd\ufffd"', '"a\\ud800\\ud800"'),
    },
  ],
  ['a surrogate whose backslash is escaped', true, { made: (made) => void (made.session = 'a\\ud800') }],
  [
    'digits in capitals',
    false,
    { bundle: (bundle) => (bundle.entry.head.root = bundle.entry.head.root.toUpperCase()) },
  ],
  ['a hash in capitals', false, { bundle: (bundle) => (bundle.entry.path[0] = bundle.entry.path[0].toUpperCase()) }],
  ['a salt in capitals', false, inText('abab', 'ABab')],
  ['a hash too many', false, { bundle: (bundle) => bundle.entry.path.push('ab'.repeat(32)) }],
  ['a hash too few', false, { bundle: (bundle) => bundle.entry.path.pop() }],
  ['a time that is none', false, { made: (made) => void (made.at = 8.64e15 + 1) }],
  ['a time with a fraction', false, inText(/"at":(\d+)/, '"at":$1.5')],
  // The row of the message.
  ['a missing block', false, { bundle: (bundle) => (bundle.entry.blocks = {}) }],
  ['a block that is another', false, { bundle: (bundle) => (bundle.entry.blocks = { [block]: otherBlock }) }],
  [
    'a block that nothing names',
    false,
    { bundle: (bundle) => (bundle.entry.blocks = { ...bundle.entry.blocks, [otherId]: otherBlock }) },
  ],
  [
    'a block that nothing names, and is not its digest',
    false,
    { bundle: (bundle) => (bundle.entry.blocks = { ...bundle.entry.blocks, ['ab'.repeat(32)]: 'AAAA' }) },
  ],
  [
    'a block with bits beyond its bytes',
    false,
    { bundle: (bundle) => (bundle.entry.blocks[block] = loose(`${long}`)) },
  ],
  [
    'a block with a line feed',
    false,
    { bundle: (bundle) => (bundle.entry.blocks[block] = long.replace(/^..../, '$&\n')) },
  ],
  ['a row that is no message', false, withBody('{"page":"conversation","note":{}}')],
  ['an unknown page kind', false, withBody(shortBody.replace('"conversation"', '"chat"'))],
  ['a kind in another case', false, withBody(shortBody.replace('"page"', '"Page"'))],
  ['two kinds', false, withBody(shortBody.replace('{"page"', '{"tag":"plan","page"'))],
  ['a member more before the message', false, withBody(shortBody.replace('{"page"', '{"more":1,"page"'))],
  ['white space before the message', false, withBody(shortBody.replace('{"page"', '{ "page"'))],
  ['an empty list of blocks', false, withBody(shortBody.replace('"message"', '"blocks":[],"message"'))],
  [
    'a key of a block',
    false,
    { made: (made) => void (made.body = longBody.replace('"as":"utf8"', '"as":"utf8","key":"AAAA"')) },
  ],
  [
    'a block whose path leads nowhere',
    false,
    { made: (made) => void (made.body = longBody.replace('"content",0', '"content",1')) },
  ],
  [
    'a block whose path leads to another text',
    false,
    { made: (made) => void (made.body = longBody.replace('"text":""', '"text":"there"')) },
  ],
  [
    'two blocks for one text',
    false,
    { made: (made) => void (made.body = longBody.replace(/\[({"path".*?})\]/, '[$1,$1]')) },
  ],
  ['a block as base64', true, { made: (made) => void (made.body = longBody.replace('"utf8"', '"base64"')) }],
  [
    'a block that is neither text nor base64',
    false,
    { made: (made) => void (made.body = longBody.replace('"as":"utf8"', '"as":"hex"')) },
  ],
  // The row of the ledger.
  ['a ledger row of a removal', false, { ledgerBody: (body) => body.replace('"head"', '"removed"') }],
  ['a ledger row with a member more', false, { ledgerBody: (body) => body.replace('}', ',"by":"ann"}') }],
  ['a ledger row with a member twice', false, { ledgerBody: (body) => body.replace('"id":', '"id":"other","id":') }],
  [
    'a ledger row in another order',
    false,
    { ledgerBody: (body) => body.replace('"type":"head","id":"s"', '"id":"s","type":"head"') },
  ],
  ['a ledger row with white space', false, { ledgerBody: (body) => body.replace(',', ', ') }],
  ['a ledger row with a name in another case', false, { ledgerBody: (body) => body.replace('"id"', '"ID"') }],
  ['a ledger row with a fraction', false, { ledgerBody: (body) => body.replace('"size":11', '"size":11.0') }],
  ['a ledger row of another session', false, { ledgerBody: (body) => body.replace('"s"', '"t"') }],
  ['a ledger row of another head', false, { ledgerBody: (body) => body.replace('"size":11', '"size":12') }],
  ['a ledger row that is none', false, { ledgerBody: () => '[]' }],
  // The tlog-proof.
  ['another first line', false, { proof: (proof) => proof.replace('@v1', '@v2') }],
  ['an index with zeros', false, { proof: (proof) => proof.replace('index 2', 'index 02') }],
  ['an index with a sign', false, { proof: (proof) => proof.replace('index 2', 'index +2') }],
  ['an index with a line more', false, { proof: (proof) => proof.replace('index 2', 'index 2\nmore') }],
  ['an extra line that is not base64', false, { proof: (proof) => proof.replace('\nindex', '\nextra !\nindex') }],
  ['two extra lines', false, { proof: (proof) => proof.replace('\nindex', '\nextra AAAA\nextra AAAA\nindex') }],
  [
    'a hash with bits beyond its bytes',
    false,
    {
      proof: (proof) =>
        proof
          .replace(/=\n/, (end) => end)
          .replace(
            /\n([\w+/]{42})(.)=\n/,
            (_, most: string, last: string) => `\n${most}${String.fromCharCode(last.charCodeAt(0) + 1)}=\n`,
          ),
    },
  ],
  ['a hash with a carriage return', false, { proof: (proof) => proof.replace(/=\n/, '=\r\n') }],
  ['no checkpoint', false, { proof: (proof) => proof.slice(0, proof.indexOf('\n\n')) }],
  // The checkpoint.
  ['another origin', false, { checkpoint: (text) => text.replace(origin, 'example.com/other') }],
  ['a size with zeros', false, { checkpoint: (text) => text.replace('\n5\n', '\n05\n') }],
  ['a size beyond 2^53', false, { checkpoint: (text) => text.replace('\n5\n', '\n9007199254740993\n') }],
  [
    'a root with bits beyond its bytes',
    false,
    {
      checkpoint: (text) =>
        text.replace(/(.)=\n/, (_, last: string) => `${String.fromCharCode(last.charCodeAt(0) + 1)}=\n`),
    },
  ],
  ['a root of 31 bytes', false, { checkpoint: (text) => text.replace(/.{4}\n$/, '\n') }],
  ['an empty line', false, { checkpoint: (text) => `${text}\nmore\n` }],
  ['a control character', false, { checkpoint: (text) => `${text}a\tb\n` }],
  ['no last line feed', false, { note: (note) => note.slice(0, -1) }],
  ['a line that is no signature', false, { note: (note) => `${note}more\n` }],
  ['an empty line behind the signatures', false, { note: (note) => `${note}\n` }],
  ['two spaces in a signature line', false, { note: (note) => note.replace(`\u2014 ${origin}`, `\u2014  ${origin}`) }],
  ['a hyphen for the dash', false, { note: (note) => note.replace('\u2014', '-') }],
  ['a stranger with a plus in the name', false, { note: (note) => `${note}\u2014 a+b AAAAAAAA\n` }],
  ['a stranger with a space of another kind', false, { note: (note) => `${note}\u2014 a\u00a0b AAAAAAAA\n` }],
  ['a stranger with a mark of byte order', false, { note: (note) => `${note}\u2014 a\ufeffb AAAAAAAA\n` }],
  ['a stranger with a control character', false, { note: (note) => `${note}\u2014 a\u0085b AAAAAAAA\n` }],
  ['a stranger with a short signature', false, { note: (note) => `${note}\u2014 a AAAA\n` }],
  ['a signature by a stranger alone', false, { signatures: (_, sign) => [sign(signers.stranger)] }],
  ['no witness', false, { signatures: ([first]) => (first === undefined ? [] : [first]) }],
  [
    'a second signature that does not fit',
    false,
    {
      signatures: ([first, ...rest]) =>
        first === undefined ? [] : [first, { ...first, signature: seed(9).slice() }, ...rest],
    },
  ],
  [
    'a signature whose S is too large',
    false,
    {
      signatures: ([first, ...rest]) =>
        first === undefined ? [] : [{ ...first, signature: withLargeS(first.signature) }, ...rest],
    },
  ],
  [
    'a signature that holds only with the cofactor',
    false,
    { signatures: ([, ...rest], _, text) => [withTorsion(text), ...rest] },
  ],
  [
    'a witness from beyond all time',
    false,
    {
      signatures: ([first, second]) =>
        first === undefined || second === undefined
          ? []
          : [first, { ...second, signature: Uint8Array.of(...seed(255).slice(0, 8), ...second.signature.slice(8)) }],
    },
  ],
  [
    '101 signatures',
    false,
    { signatures: (all) => Array.from({ length: 101 }, (_, at) => all[at % 2] as NoteSignature) },
  ],
  [
    '100 signatures',
    true,
    { signatures: (all) => Array.from({ length: 100 }, (_, at) => all[at % 2] as NoteSignature) },
  ],
]

const signatures = new Map<string, Uint8Array>()
/** A signature, made once of each text: most cases change another one. */
const signatureOf = (keyId: string, text: string, sign: NoteSigner['sign']): Uint8Array => {
  const key = `${keyId} ${text}`
  const signature = signatures.get(key) ?? (sign(Buffer.from(text)) as Uint8Array)
  signatures.set(key, signature)
  return signature.slice()
}

/** A signature that holds only if both sides of its equation are multiplied by the cofactor: whoever has the key can make one. */
const withTorsion = (text: string): NoteSignature => {
  const { Point, utils } = ed25519
  const { scalar, pointBytes } = utils.getExtendedPublicKey(seed(1))
  const r = 1234567n
  const R = Point.BASE.multiply(r)
    .add(Point.fromHex(ED25519_TORSION_SUBGROUP[1] as string))
    .toBytes()
  const hashed = sha512(Buffer.concat([R, pointBytes, Buffer.from(text)]))
  const k = Point.Fn.create(BigInt(`0x${bytesToHex(hashed.toReversed())}`))
  const s = Point.Fn.create(r + k * scalar)
  const signature = Uint8Array.of(...R, ...Buffer.from(s.toString(16).padStart(64, '0'), 'hex').toReversed())
  if (!ed25519.verify(signature, Buffer.from(text), pointBytes)) throw new Error('it does not hold with the cofactor')
  return { name: signers.log.name, keyId: signers.log.keyId, signature }
}

const order = 2n ** 252n + 27742317777372353535851937790883648493n

/** The same signature with the order of the curve added to its second half. */
const withLargeS = (signature: Uint8Array): Uint8Array => {
  const s = BigInt(`0x${bytesToHex(signature.slice(32).toReversed())}`) + order
  return Uint8Array.of(...signature.slice(0, 32), ...Buffer.from(s.toString(16).padStart(64, '0'), 'hex').toReversed())
}
