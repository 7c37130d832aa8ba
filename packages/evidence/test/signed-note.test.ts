/** Keys, signed notes, checkpoints and proofs, held to the texts of their specifications. */
import { describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { newKey, remoteSigner, signerOf, type NoteSigner } from '@indelible/evidence'
import {
  checkpointText,
  noteText,
  openNote,
  parseCheckpoint,
  parseNote,
  parseTlogProof,
  signNote,
  tlogProofText,
  verifierOf,
} from '../src/kit.ts'
import { orThrow } from 'indelible'
import { oneIn } from '../../../test/rounds.ts'

// The example of signed-note, section "Verifier keys".
const specKey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
const specNote = `This is an example message.

\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`
const seed = Uint8Array.from({ length: 32 }, (_, index) => index)

describe('a signed note', () => {
  it('from the specification opens with its key and fails with any changed bit', () => {
    const verifier = orThrow(verifierOf(specKey))
    expect(orThrow(openNote(specNote, [verifier]))).toMatchObject({
      text: 'This is an example message.\n',
      verified: [{ name: 'example.com/foo', keyId: '530d903a' }],
    })
    const bytes = new TextEncoder().encode(specNote)
    for (let bit = 0; bit < bytes.length * 8; bit += oneIn(5)) {
      const changed = Uint8Array.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      const text = new TextDecoder().decode(changed)
      expect([bit, openNote(text, [verifier])._tag]).toEqual([bit, 'Left'])
    }
  })

  it('round-trips', () => {
    expect(noteText(orThrow(parseNote(specNote)))).toBe(specNote)
  })

  it('has the text before the last empty line, empty lines included', async () => {
    const signer = orThrow(signerOf(newKey('example.com/a', 'log', seed).skey))
    const note = await signNote('one\n\ntwo\n', [signer])
    expect(orThrow(parseNote(note)).text).toBe('one\n\ntwo\n')
    expect(orThrow(openNote(note, [orThrow(verifierOf(signer.vkey))])).text).toBe('one\n\ntwo\n')
  })

  it('opens with one of its keys: unknown signatures are ignored, a wrong known one is refused', async () => {
    const [one, two, three] = ['one', 'two', 'three'].map((name, index) =>
      orThrow(
        signerOf(
          newKey(
            name,
            'log',
            Uint8Array.from(seed, (byte) => byte + index),
          ).skey,
        ),
      ),
    ) as [NoteSigner, NoteSigner, NoteSigner]
    const note = await signNote('text\n', [one, two])
    expect(orThrow(openNote(note, [orThrow(verifierOf(two.vkey))])).verified.map(({ name }) => name)).toEqual(['two'])
    expect(openNote(note, [orThrow(verifierOf(three.vkey))])).toMatchObject({
      left: { _tag: 'NotSigned', wanted: ['three'], found: ['one', 'two'] },
    })
    const other = noteText({
      text: 'text\n',
      signatures: [{ name: 'two', keyId: two.keyId, signature: new Uint8Array(64) }],
    })
    const mixed = note.replace(/\u2014 two .*\n/, /\u2014 two .*\n/.exec(other)?.[0] ?? '')
    expect(
      openNote(
        mixed,
        [one, two].map((key) => orThrow(verifierOf(key.vkey))),
      ),
    ).toMatchObject({
      left: { _tag: 'BadSignature', name: 'two' },
    })
  })
  it.each([
    ['no empty line', 'text\n\u2014 a AAAAAAA=\n'],
    ['no signature', 'text\n\n'],
    ['a line that is none', 'text\n\nsigned by me\n'],
    ['no newline at its end', specNote.slice(0, -1)],
    ['a control character', specNote.replace('example', 'ex\tample')],
    ['a lone surrogate', `\ud800${specNote}`],
    ['a plus in a name', specNote.replace('example.com/foo', 'example+foo')],
    ['base64 with other last bits', 'text\n\n\u2014 a AAAAAAB=\n'],
    ['a hundred and one signatures', `text\n\n${'\u2014 a AAAAAAA=\n'.repeat(101)}`],
  ])('with %s is refused', (_, note) => {
    expect(parseNote(note)).toMatchObject({ left: { _tag: 'BadNote' } })
  })

  // Cases of transparency-dev/formats, note/*_test.go: kinds of signatures that the specification leaves to others.
  it.each([
    [
      'ECDSA, of Rekor',
      'Rekor\n798034\nf+7CoKgXKE/tNys9TTXcr/ad6U/K3xvznmzew9y6SP0=\n',
      'rekor.sigstore.dev wNI9ajBEAiARInWIWyCdyG27CO6LPnPekyw20qO0YJfoaPaowGp/XgIgc+qEHS3+GKVClgqq20uDLet7MCoTURUCRdxwWBHHufk=',
      'rekor.sigstore.dev+c0d23d6a+AjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNhtmPtrWm3U1eQXBogSMdGvXwBcK5AW5i0hrZLOC96l+smGNM7nwZ4QvFK/4sueRoVj//QP22Ni4Qt9DPfkWLc=',
      'its type is 2',
    ],
    [
      'RFC 6962, of a log of certificates',
      'rome.ct.filippo.io/2024h1\n115474666\n2q1K6aiIJR+F7TyhiWOghoWOjY0/3dVBLsBbAvB4xCw=\n',
      'rome.ct.filippo.io/2024h1 ePSrrgAAAY5+gVlSBAMARzBFAiEAv8bOMzo3Ed/GbU9fzzJvaStX6i8xTsmEF+NqvpGhIO0CIEn1X+zzVEerdix64GEn97XCXObA2G5JQ8UDDqCKdG5m',
      'rome.ct.filippo.io/2024h1+78f4abae+BTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABAFzPC3fap+uINc1RQ4eRbYMUt84+bKkA8GDLN8KwVdzAgYhYSv4kS8XSheGLAHCWhIJTJbuC3sL88bNMTtrsBM=',
      'its type is 5',
    ],
  ])('of %s is read and opened by another of its keys; the key type is refused', async (...test) => {
    const [, text, line, vkey, reason] = test
    const note = `${text}\n\u2014 ${line}\n`
    expect(noteText(orThrow(parseNote(note)))).toBe(note)
    expect(parseCheckpoint(text)._tag).toBe('Right')
    const signer = orThrow(signerOf(newKey('example.com/log', 'log', seed).skey))
    const both = `${await signNote(text, [signer])}\u2014 ${line}\n`
    const verifier = orThrow(verifierOf(signer.vkey))
    expect(orThrow(openNote(both, [verifier])).verified).toMatchObject([{ name: 'example.com/log' }])
    expect(openNote(note, [verifier])).toMatchObject({ left: { _tag: 'NotSigned' } })
    expect(verifierOf(vkey)).toMatchObject({ left: { _tag: 'BadKey', reason: expect.stringContaining(reason) } })
  })

  it('is not signed if it could not be read', async () => {
    const signer = orThrow(signerOf(newKey('example.com/a', 'log', seed).skey))
    for (const text of ['', 'no newline', 'a tab\t\n', 'a lone \ud800\n'])
      await expect(signNote(text, [signer])).rejects.toThrow('the text of a note must be well-formed')
    await expect(signNote('a\n', [])).rejects.toThrow('a note needs at least one signer')
    await expect(signNote('a\n', Array(101).fill(signer))).rejects.toThrow('at most 100 signatures, found 101')
  })

  it('may have sixteen signatures and more', () => {
    expect(orThrow(parseNote(`text\n\n${'\u2014 a AAAAAAA=\n'.repeat(100)}`)).signatures).toHaveLength(100)
  })
})

describe('a note key', () => {
  it.each(['log', 'witness'] as const)('of a %s signs what its verifier accepts', async (kind) => {
    const { skey, vkey } = newKey('example.com/key', kind)
    const now = 1_700_000_000_000
    const note = await signNote('example.com/log\n0\nAAAA\n', [orThrow(signerOf(skey, () => now))])
    const verifier = orThrow(verifierOf(vkey))
    expect(verifier.kind).toBe(kind)
    expect(orThrow(openNote(note, [verifier])).verified).toEqual([
      { name: 'example.com/key', keyId: verifier.keyId, ...(kind === 'witness' && { at: now }) },
    ])
  })

  it('of a witness signs no time beyond exact numbers', async () => {
    const { skey, vkey } = newKey('example.com/key', 'witness')
    const text = 'example.com/log\n0\nAAAA\n'
    const [last, beyond] = [2 ** 53 - 1, 2 ** 53].map((seconds) => {
      const { name, keyId, sign } = orThrow(signerOf(skey, () => seconds * 1000))
      return noteText({ text, signatures: [{ name, keyId, signature: sign(Buffer.from(text)) as Uint8Array }] })
    })
    const verifier = orThrow(verifierOf(vkey))
    expect(openNote(last ?? '', [verifier])._tag).toBe('Right')
    expect(openNote(beyond ?? '', [verifier])).toMatchObject({ left: { _tag: 'BadSignature' } })
  })

  it('may be held by a signing service', async () => {
    const pair = newKey('example.com/hsm')
    const local = orThrow(signerOf(pair.skey))
    const remote = orThrow(remoteSigner(pair.vkey, async (bytes) => await local.sign(bytes)))
    const note = await signNote('text\n', [remote])
    expect(openNote(note, [orThrow(verifierOf(pair.vkey))])._tag).toBe('Right')
  })

  // Cases of transparency-dev/formats, note/note_cosigv1_test.go and note_verifier_test.go.
  it.each([
    ['log', 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW'],
    ['log', 'TEST+7997405c+AQcC+FTVKf0jlTdHDY3rbevmnKxxPjigCXlVtGe6RIr6'],
    ['witness', 'remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2'],
  ])('of a %s from elsewhere is read: %s', (kind, vkey) => {
    expect(orThrow(verifierOf(vkey))).toMatchObject({ kind, vkey })
  })

  it('from elsewhere signs as its public key verifies', async () => {
    const signer = orThrow(signerOf('PRIVATE+KEY+logandmap+38581672+AXJ0FKWOcO2ch6WC8kP705Ed3Gxu7pVtZLhfHAQwp+FE'))
    expect(signer.vkey).toBe('logandmap+38581672+Ab/PCr1eCclRPRMBqw/r5An1xO71MCnImLiospEq6b4l')
    expect(openNote(await signNote('hello\n', [signer]), [orThrow(verifierOf(signer.vkey))])._tag).toBe('Right')
    expect(signerOf(signer.vkey)).toMatchObject({ left: { _tag: 'BadKey' } })
  })

  it.each([
    ['another id', specKey.replace('530d903a', '530d903b')],
    ['two parts', 'example.com/foo+530d903a'],
    ['no base64', specKey.replace('AekyeR', 'Ae!yeR')],
    ['an unknown type', 'a+00000000+A0E='],
    ['a key id that is not hexadecimal', specKey.replace('530d903a', 'nothexxx')],
    ['no name', specKey.replace('example.com/foo', '')],
  ])('with %s is refused', (_, vkey) => {
    expect(verifierOf(vkey)).toMatchObject({ left: { _tag: 'BadKey' } })
  })

  it.each(['log', 'witness'] as const)('that is private is refused if damaged: of a %s', (kind) => {
    const { skey } = newKey('example.com/key', kind)
    const [, start = '', base64 = ''] = /^(.*\+[0-9a-f]{8}\+)(.*)$/.exec(skey) ?? []
    const keyOf = (...bytes: readonly number[]): string => start + Buffer.from(bytes).toString('base64')
    const [type = 0, ...seed] = Buffer.from(base64, 'base64')
    expect(keyOf(type, ...seed)).toBe(skey)
    for (const [wrong, reason] of [
      [skey.replace('com/key', 'com/yek'), 'its id does not match its name and key'],
      [keyOf(type, ...seed.toReversed()), 'its id does not match its name and key'],
      [`${skey}!`, 'expected PRIVATE+KEY+NAME+ID+BASE64'],
      [keyOf(9, ...seed), 'it is not an Ed25519 key'],
      [keyOf(type, ...seed.slice(1)), 'it is not an Ed25519 key'],
      [keyOf(type, ...seed, 0), 'it is not an Ed25519 key'],
    ])
      expect(signerOf(wrong as string)).toMatchObject({ left: { _tag: 'BadKey', reason } })
  })

  it('that is private is in no fault', () => {
    const { skey } = newKey('example.com/key')
    // The name and the hash are public, and base64 may have a plus of its own.
    const secret = skey.split('+').slice(4).join('+')
    expect(secret.length).toBeGreaterThan(40)
    for (const damaged of [skey.slice(0, -2), skey.replace('PRIVATE', 'PUBLIC'), `${skey}A`])
      expect(JSON.stringify(signerOf(damaged))).not.toContain(secret.slice(0, 20))
  })

  it('requires a name without spaces and plus', () => {
    for (const name of ['', 'a b', 'a+b', 'a\u2003b', 'a\nb']) expect(() => newKey(name)).toThrow(TypeError)
  })
})

describe('a checkpoint', () => {
  const root = '0aa1'.repeat(16)

  it('round-trips as text', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.stringMatching(/^[a-z./]{1,20}$/),
        fc.array(fc.stringMatching(/^[a-z ]{1,9}$/)),
        (size, origin, extensions) => {
          const checkpoint = { origin, head: { size, root }, extensions }
          const read = orThrow(parseCheckpoint(checkpointText(checkpoint)))
          expect(read).toEqual(checkpoint)
          expect([read, read.head, read.extensions].every(Object.isFrozen)).toBe(true)
        },
      ),
    )
  })

  it.each([
    ['two lines', 'Head\n9944\n'],
    ['an empty origin', '\n9944\nYmFuYW5hcw==\n'],
    ['no newline behind its root', 'Log\n123\nYmFuYW5hcw=='],
    ['a size that is no number', 'Log\nbananas\nYmFuYW5hcw==\n'],
    ['a negative size', 'Log\n-34\nYmFuYW5hcw==\n'],
    ['a size of 28 digits', 'Log\n3438945738945739845734895735\nYmFuYW5hcw==\n'],
    ['a size with a leading zero', 'Log\n01\nYmFuYW5hcw==\n'],
    ['a root that is not base64', "Log\n123\nThisIsn'tBase64\n"],
    // The specification; transparency-dev/formats reads it.
    ['an empty extension line', 'Log\n123\nYmFuYW5hcw==\n\n\n'],
  ])('with %s is refused', (_, text) => {
    expect(parseCheckpoint(text)).toMatchObject({ left: { _tag: 'BadCheckpoint' } })
  })

  it.each([
    ['no extension', 'Log\n123\nYmFuYW5hcw==\n', []],
    ['extensions', 'Log\n123\nYmFuYW5hcw==\nlots\nof\nlines\n', ['lots', 'of', 'lines']],
    ['the empty log', 'Log\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n', []],
  ])('with %s is read', (_, text, extensions) => {
    expect(orThrow(parseCheckpoint(text)).extensions).toEqual(extensions)
  })
})

describe('a tlog proof', () => {
  const path = [1, 2].map((byte) => new Uint8Array(32).fill(byte))

  it('of a single-row log has no hashes', () => {
    const proof = { index: 0, path: [], checkpoint: specNote }
    expect(orThrow(parseTlogProof(tlogProofText(proof)))).toEqual(proof)
  })

  it('round-trips as text with and without extra data', () => {
    for (const extra of [undefined, Uint8Array.of(1, 2, 3)]) {
      const proof = { ...(extra && { extra }), index: 73_894, path, checkpoint: specNote }
      expect(orThrow(parseTlogProof(tlogProofText(proof)))).toEqual(proof)
    }
  })

  const good = tlogProofText({ index: 3, path, checkpoint: specNote })
  it.each([
    ['another first line', good.replace('v1', 'v2')],
    ['no index', good.replace('index 3\n', '')],
    ['an index with a leading zero', good.replace('index 3', 'index 03')],
    ['an index that is no number', good.replace('index 3', 'index banana')],
    ['a negative index', good.replace('index 3', 'index -1')],
    ['a hash that is not base64', good.replace(/\nAQEB/, '\n!!!!')],
    ['a short hash', good.replace(/\nAQEB/, '\nAQ==')],
    ['a bad extra line', good.replace('index', 'extra !\nindex')],
    ['no checkpoint', good.slice(0, good.indexOf('\n\n') + 2)],
    [
      'sixty-four hashes',
      tlogProofText({ index: 3, path: Array.from({ length: 64 }, () => new Uint8Array(32)), checkpoint: specNote }),
    ],
  ])('with %s is refused', (_, text) => {
    expect(parseTlogProof(text)._tag).toBe('Left')
  })
})

it('a checkpoint without a size is refused with what is there instead', () => {
  expect(parseCheckpoint('example.com/log\nmany\nAAAA\n')).toMatchObject({
    left: { _tag: 'BadCheckpoint', reason: expect.stringContaining('its second line is "many"; expected a size') },
  })
})
