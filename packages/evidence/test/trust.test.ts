/** Which trust is read, and which checkpoint counts under it. */
import { orThrow } from 'indelible'
import { checkCheckpoint, newKey, rotation, signerOf, type Trust } from '@indelible/evidence'
import { checkpointText, readTrust, signNote } from '../src/internal.ts'
import { left } from '../../../src/json/index.ts'
import { describe, expect, it } from 'vitest'

const origin = 'example.com/log'
const log = newKey(origin)
const next = newKey('example.com/next')
const [keyPair, two] = [newKey('w.example/1', 'witness'), newKey('w.example/2', 'witness')]
const head = { size: 3, root: 'ab'.repeat(32) }

/** A checkpoint signed by these keys; a witness signs at this time in seconds. */
const checkpointBy = (
  keys: readonly (readonly [skey: string, seconds?: number])[],
  { extensions = [], root = head.root }: { readonly extensions?: readonly string[]; readonly root?: string } = {},
): Promise<string> =>
  signNote(
    checkpointText({ origin, head: { ...head, root }, extensions }),
    keys.map(([skey, seconds = 0]) => orThrow(signerOf(skey, () => seconds * 1000))),
  )
const idOf = (vkey: string): string => vkey.split('+')[1] as string

const quorumOf = (found: string, most: number): string =>
  `has a "quorum" of ${found}; expected a whole number from 0 to its ${most} witnesses`

describe('a trust from JSON', () => {
  const unknown = 'expected origin, keys, rotations, witnesses, quorum'
  const keysWrong = 'needs "keys": a list of public keys, each a text or { "vkey": …, "revoked": milliseconds }'
  const good = { origin, keys: ['k'] }
  it.each<[string, unknown, string]>([
    ['a list', [], 'is not a JSON object'],
    ['null', null, 'is not a JSON object'],
    ['a text', 'trust', 'is not a JSON object'],
    ['a misspelled member', { ...good, quorom: 1 }, `has an unknown member "quorom"; ${unknown}`],
    ['no origin', { keys: ['k'] }, 'has no "origin": the name of the log'],
    ['an empty origin', { ...good, origin: '' }, 'has no "origin": the name of the log'],
    ['an origin that is a number', { ...good, origin: 1 }, 'has no "origin": the name of the log'],
    ['no keys', { origin }, keysWrong],
    ['an empty list of keys', { origin, keys: [] }, keysWrong],
    ['one key without a list', { origin, keys: 'k' }, keysWrong],
    ['a key that is a number', { origin, keys: ['k', 1] }, keysWrong],
    ['a key that is null', { origin, keys: [null] }, keysWrong],
    ['a key without its text', { origin, keys: [{ revoked: 1 }] }, keysWrong],
    ['a key that is revoked by a text', { origin, keys: [{ vkey: 'k', revoked: '1' }] }, keysWrong],
    ['a key with a misspelled member', { origin, keys: [{ vkey: 'k', revokedAt: 1 }] }, keysWrong],
    ['a rotation that is no text', { ...good, rotations: ['a', 1] }, 'has a "rotations" that is not a list of texts'],
    ['rotations without a list', { ...good, rotations: 'a' }, 'has a "rotations" that is not a list of texts'],
    ['a witness that is no text', { ...good, witnesses: [{}] }, 'has a "witnesses" that is not a list of texts'],
    ['a quorum below 0', { ...good, quorum: -1 }, quorumOf('-1', 0)],
    ['a quorum without witnesses', { ...good, quorum: 1 }, quorumOf('1', 0)],
    ['a quorum above its witnesses', { ...good, witnesses: ['w', 'x'], quorum: 3 }, quorumOf('3', 2)],
    ['half a quorum', { ...good, witnesses: ['w'], quorum: 0.5 }, quorumOf('0.5', 1)],
    ['a quorum that is a text', { ...good, witnesses: ['w'], quorum: '1' }, quorumOf('"1"', 1)],
    ['a quorum that is null', { ...good, quorum: null }, quorumOf('null', 0)],
  ])('with %s is refused with the reason', (_, value, reason) => {
    expect(readTrust(value)).toEqual(left({ _tag: 'BadTrust', reason }))
  })

  it('is read with the members that it has, and frozen', () => {
    for (const value of [
      good,
      { ...good, quorum: 0 },
      { origin, keys: ['k', { vkey: 'l' }, { vkey: 'm', revoked: 5 }], rotations: [], witnesses: [] },
      { ...good, rotations: ['r'], witnesses: ['w', 'x'], quorum: 2 },
    ]) {
      const read = orThrow(readTrust(value))
      expect(read).toStrictEqual(value)
      expect(Object.isFrozen(read)).toBe(true)
    }
  })
})

describe('a checkpoint', () => {
  it('counts with exactly what was signed, and is frozen', async () => {
    const note = await checkpointBy([[log.skey], [two.skey, 6], [keyPair.skey, 5]], { extensions: ['more'] })
    const trust: Trust = { origin, keys: [log.vkey], witnesses: [keyPair.vkey, two.vkey], quorum: 2 }
    const checked = orThrow(checkCheckpoint(note, trust))
    expect(checked).toEqual({
      ...{ origin, head, extensions: ['more'], signedBy: [origin] },
      witnessed: [
        { name: 'w.example/2', keyId: idOf(two.vkey), at: 6000 },
        { name: 'w.example/1', keyId: idOf(keyPair.vkey), at: 5000 },
      ],
    })
    for (const part of [checked, checked.signedBy, checked.witnessed, ...checked.witnessed])
      expect(Object.isFrozen(part)).toBe(true)
    // Without a quorum the trusted witnesses are still listed, and no others.
    expect(orThrow(checkCheckpoint(note, { origin, keys: [log.vkey], witnesses: [keyPair.vkey] })).witnessed).toEqual([
      { name: 'w.example/1', keyId: idOf(keyPair.vkey), at: 5000 },
    ])
    expect(orThrow(checkCheckpoint(note, { origin, keys: [log.vkey] })).witnessed).toEqual([])
  })

  it('with too few witnesses does not count: the fault has those that signed', async () => {
    const note = await checkpointBy([[log.skey], [keyPair.skey, 5]])
    const trust: Trust = { origin, keys: [log.vkey], witnesses: [keyPair.vkey, two.vkey] }
    expect(checkCheckpoint(note, { ...trust, quorum: 1 })._tag).toBe('Right')
    expect(checkCheckpoint(note, { ...trust, quorum: 2 })).toEqual(
      left({ _tag: 'TooFewWitnesses', wanted: 2, found: ['w.example/1'] }),
    )
  })

  it('of another log, or with a root of another length, does not count', async () => {
    const trust: Trust = { origin: 'example.com/other', keys: [log.vkey] }
    expect(checkCheckpoint(await checkpointBy([[log.skey]]), trust)).toEqual(
      left({ _tag: 'BadCheckpoint', reason: `its origin is "${origin}", expected "example.com/other"` }),
    )
    const short = await checkpointBy([[log.skey]], { root: 'ab'.repeat(31) })
    expect(checkCheckpoint(short, { ...trust, origin })).toEqual(
      left({ _tag: 'BadCheckpoint', reason: 'its root is not a SHA-256' }),
    )
  })

  it('with a wrong signature of a witness does not count', async () => {
    const note = await checkpointBy([[log.skey]])
    const [, line] = (await signNote('another\n', [orThrow(signerOf(keyPair.skey, () => 5000))])).split('\n\n')
    expect(checkCheckpoint(note + line, { origin, keys: [log.vkey], witnesses: [keyPair.vkey] })).toEqual(
      left({ _tag: 'BadSignature', name: 'w.example/1' }),
    )
  })

  it('by a revoked key counts if enough trusted witnesses signed no later', async () => {
    const revokedAt = (revoked: number, quorum?: number): Trust => ({
      ...{ origin, keys: [{ vkey: log.vkey, revoked }], witnesses: [keyPair.vkey, two.vkey] },
      ...(quorum !== undefined && { quorum }),
    })
    const note = await checkpointBy([[log.skey], [keyPair.skey, 5], [two.skey, 7]])
    const refused = (needed: number) =>
      left({
        _tag: 'BadCheckpoint',
        reason: `only revoked keys signed it, and fewer than ${needed} of the trusted witnesses signed it before they were revoked`,
      })
    for (const [revoked, quorum, needed] of [
      [5000, undefined, 0],
      [4999, undefined, 1],
      [5000, 0, 0],
      [4999, 0, 1],
      [5000, 1, 0],
      [4999, 1, 1],
      [7000, 2, 0],
      [6999, 2, 2],
    ] as const) {
      const checked = checkCheckpoint(note, revokedAt(revoked, quorum))
      if (needed > 0) expect(checked).toEqual(refused(needed))
      else expect(orThrow(checked).signedBy).toEqual([origin])
    }
    // Another key that is not revoked is enough, and only that one is named.
    const both = await checkpointBy([[log.skey], [next.skey]])
    expect(
      orThrow(checkCheckpoint(both, { origin, keys: [{ vkey: log.vkey, revoked: 0 }, next.vkey] })).signedBy,
    ).toEqual(['example.com/next'])
  })

  it('by a key that a rotation names counts, unless the rotation does not', async () => {
    const note = await checkpointBy([[next.skey]])
    const rotated = await checkpointBy([[log.skey]], { extensions: ['another line', rotation(next.vkey)] })
    const trust: Trust = { origin, keys: [log.vkey] }
    expect(rotation(next.vkey)).toBe(`indelible-next-key ${next.vkey}`)
    expect(orThrow(checkCheckpoint(note, { ...trust, rotations: [rotated] })).signedBy).toEqual(['example.com/next'])
    expect(checkCheckpoint(note, { ...trust, rotations: [rotated], witnesses: [keyPair.vkey], quorum: 1 })).toEqual(
      left({ _tag: 'TooFewWitnesses', wanted: 1, found: [] }),
    )
    const wrong = await checkpointBy([[log.skey]], { extensions: [rotation('no key')] })
    expect(checkCheckpoint(note, { ...trust, rotations: [wrong] })).toEqual(
      left({ _tag: 'BadKey', reason: 'expected NAME+ID+BASE64, with 8 hexadecimal digits for ID' }),
    )
    const third = newKey('example.com/third')
    const again = await checkpointBy([[next.skey]], { extensions: [rotation(third.vkey)] })
    const last = await checkpointBy([[third.skey]])
    expect(checkCheckpoint(last, { ...trust, rotations: [rotated, again] })._tag).toBe('Right')
    expect(checkCheckpoint(last, { ...trust, rotations: [again, rotated] })).toEqual(
      left({ _tag: 'NotSigned', wanted: [origin], found: ['example.com/next'] }),
    )
  })

  it('does not count under keys of the wrong kind', async () => {
    const note = await checkpointBy([[log.skey]])
    expect(checkCheckpoint(note, { origin, keys: [keyPair.vkey] })).toEqual(
      left({ _tag: 'BadKey', reason: `${keyPair.vkey} is a witness's key, not a log's` }),
    )
    expect(checkCheckpoint(note, { origin, keys: [log.vkey], witnesses: [log.vkey] })).toEqual(
      left({
        _tag: 'BadKey',
        reason: `${log.vkey} is a log's key, not a witness's: newKey(name, 'witness') makes one`,
      }),
    )
  })

  it('is checked with at most 1000 witnesses in its quorum', async () => {
    const note = await checkpointBy([[log.skey]])
    expect(checkCheckpoint(note, { origin, keys: [log.vkey], quorum: 1000 })).toMatchObject({
      left: { _tag: 'TooFewWitnesses' },
    })
    expect(() => checkCheckpoint(note, { origin, keys: [log.vkey], quorum: 1001 })).toThrow(
      new TypeError('quorum is 1001; expected a whole number of witnesses, at least 0 and at most 1000'),
    )
  })
})
