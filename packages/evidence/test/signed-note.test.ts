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
} from '../src/internal.ts'
import { orThrow } from 'indelible'
import { left } from '../../../src/json/index.ts'
import { oneIn } from '../../../test/rounds.ts'

// The example of signed-note, section "Verifier keys".
const specKey = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'
const specNote = `This is an example message.

\u2014 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
`
const seed = Uint8Array.from({ length: 32 }, (_, index) => index)

const notText = 'it is not valid UTF-8, or contains a control character'

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

  it('is frozen with its signatures, verified or not', () => {
    const parsed = orThrow(parseNote(specNote))
    const opened = orThrow(openNote(specNote, [orThrow(verifierOf(specKey))]))
    for (const one of [parsed, parsed.signatures, ...parsed.signatures, opened, opened.verified, ...opened.verified])
      expect(Object.isFrozen(one)).toBe(true)
  })

  it('opens with each key once, at the earliest of its times', async () => {
    const { skey, vkey } = newKey('w', 'witness', seed)
    const verifier = orThrow(verifierOf(vkey))
    const lineAt = async (seconds: number): Promise<string> =>
      (await signNote('text\n', [orThrow(signerOf(skey, () => seconds * 1000))])).split('\n\n')[1] as string
    const [early, late] = [await lineAt(5), await lineAt(6)]
    for (const lines of [early + late, late + early, early + early, late + late + early])
      expect(orThrow(openNote(`text\n\n${lines}`, [verifier])).verified).toEqual([
        { name: 'w', keyId: verifier.keyId, at: 5000 },
      ])
  })

  it('does not open without keys: the fault has the names of those that signed', () => {
    expect(openNote(specNote, [])).toEqual(left({ _tag: 'NotSigned', wanted: [], found: ['example.com/foo'] }))
    expect(openNote('text', [])).toMatchObject({ left: { _tag: 'BadNote' } })
  })

  it('is not opened by a key of the same name, nor by one of the same id', async () => {
    const noteSigner = orThrow(signerOf(newKey('one', 'log', seed).skey))
    const sameName = orThrow(verifierOf(newKey('one', 'log', seed.toReversed()).vkey))
    const sameId = { ...orThrow(verifierOf(noteSigner.vkey)), name: 'two' }
    const note = await signNote('text\n', [noteSigner])
    for (const verifier of [sameName, sameId])
      expect(openNote(note, [verifier])).toEqual(left({ _tag: 'NotSigned', wanted: [verifier.name], found: ['one'] }))
  })

  it('has the text before the last empty line, empty lines included', async () => {
    const signer = orThrow(signerOf(newKey('example.com/a', 'log', seed).skey))
    const note = await signNote('one\n\ntwo\n', [signer])
    expect(orThrow(parseNote(note)).text).toBe('one\n\ntwo\n')
    expect(orThrow(openNote(note, [orThrow(verifierOf(signer.vkey))])).text).toBe('one\n\ntwo\n')
  })

  it('opens with one of its keys: unknown signatures are ignored, a wrong known one is refused', async () => {
    const [noteSigner, two, three] = ['one', 'two', 'three'].map((name, index) =>
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
    const note = await signNote('text\n', [noteSigner, two])
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
        [noteSigner, two].map((key) => orThrow(verifierOf(key.vkey))),
      ),
    ).toMatchObject({
      left: { _tag: 'BadSignature', name: 'two' },
    })
  })
  it.each([
    ['no empty line', 'text\n\u2014 a AAAAAAA=\n', 'no empty line separates its text from its signatures'],
    ['no signature', 'text\n\n', 'it does not end with a signature line'],
    ['a line that is none', 'text\n\nsigned by me\n', '"signed by me" is not a signature line'],
    ['a long line that is none', `text\n\n${'x'.repeat(81)}\n`, `"${'x'.repeat(80)}" is not a signature line`],
    ['no newline at its end', specNote.slice(0, -1), 'it does not end with a signature line'],
    ['a control character', specNote.replace('example', 'ex\tample'), notText],
    ['a lone surrogate', `\ud800${specNote}`, notText],
    ['a plus in a name', 'text\n\n\u2014 a+b AAAAAAA=\n', '"\u2014 a+b AAAAAAA=" is not a signature line'],
    ['base64 with other last bits', 'text\n\n\u2014 a AAAAAAB=\n', '"\u2014 a AAAAAAB=" is not a signature line'],
    ['the id of a key alone', 'text\n\n\u2014 a AAAAAA==\n', '"\u2014 a AAAAAA==" is not a signature line'],
    [
      'a hundred and one signatures',
      `text\n\n${'\u2014 a AAAAAAA=\n'.repeat(101)}`,
      'it has 101 signatures; at most 100 are allowed',
    ],
  ])('with %s is refused with the reason', (_, note, reason) => {
    expect(parseNote(note)).toEqual(left({ _tag: 'BadNote', reason }))
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

const notAKey = 'expected NAME+ID+BASE64, with 8 hexadecimal digits for ID'
const base64Of = (type: number, length: number): string =>
  Buffer.from([type, ...new Uint8Array(length)]).toString('base64')

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

  it('may be held by a service that uses its Buffer again', async () => {
    const [pair, other] = [newKey('example.com/hsm'), newKey('example.com/other')]
    const buffer = Buffer.alloc(64)
    const keys = [pair, other].map(({ vkey, skey }) => {
      const { sign } = orThrow(signerOf(skey))
      return orThrow(
        remoteSigner(vkey, async (bytes) => {
          buffer.set(await sign(bytes))
          return buffer
        }),
      )
    })
    const note = await signNote('text\n', keys)
    expect(
      openNote(
        note,
        keys.map(({ vkey }) => orThrow(verifierOf(vkey))),
      )._tag,
    ).toBe('Right')
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
    ['another id', specKey.replace('530d903a', '530d903b'), 'its id does not match its name and key'],
    ['two parts', 'example.com/foo+530d903a', notAKey],
    ['other letters than those of base64', specKey.replace('AekyeR', 'Ae!yeR'), notAKey],
    ['base64 without its end', 'a+00000000+A0E', 'its last part is not base64'],
    ['an unknown type', 'a+00000000+A0E=', 'its type is 3; known are 1 (Ed25519) and 4 (Ed25519 cosignatures)'],
    ['31 bytes', `a+00000000+${base64Of(1, 31)}`, 'an Ed25519 key has 32 bytes, not 31'],
    ['33 bytes', `a+00000000+${base64Of(4, 33)}`, 'an Ed25519 key has 32 bytes, not 33'],
    ['a key id that is not hexadecimal', specKey.replace('530d903a', 'nothexxx'), notAKey],
    ['no name', specKey.replace('example.com/foo', ''), notAKey],
    ['a space in its name', specKey.replace('example.com/foo', 'a b'), notAKey],
  ])('with %s is refused with the reason', (_, vkey, reason) => {
    expect(verifierOf(vkey)).toEqual(left({ _tag: 'BadKey', reason }))
    expect(remoteSigner(vkey, () => new Uint8Array(64))).toEqual(left({ _tag: 'BadKey', reason }))
  })

  it('that is no text is refused without its value', () => {
    expect(signerOf({ skey: 'secret' } as never)).toEqual(
      left({ _tag: 'BadKey', reason: 'expected a text, found object' }),
    )
  })

  it('is made of 32 bytes for its seed, with a name', () => {
    expect(newKey('a', undefined, seed)).toEqual(newKey('a', 'log', seed))
    expect(Object.isFrozen(newKey('a', 'log', seed))).toBe(true)
    expect(() => newKey('a', 'log', seed.slice(1))).toThrow(new TypeError('a seed must have 32 bytes, found 31'))
    expect(() => newKey('a', 'log', new Uint8Array(33))).toThrow(new TypeError('a seed must have 32 bytes, found 33'))
    expect(() => newKey('a b')).toThrow(
      new TypeError(`a key's name must not be empty or contain spaces or plus signs, found "a b"`),
    )
    expect(newKey('a').skey).not.toBe(newKey('a').skey)
  })

  it('of a log or a witness, and its signer, are frozen and give their public parts', () => {
    for (const kind of ['log', 'witness'] as const) {
      const { vkey, skey } = newKey('example.com/key', kind, seed)
      const [name, keyId] = vkey.split('+')
      const sign = (): Uint8Array => new Uint8Array(64)
      const verifier = orThrow(verifierOf(vkey))
      const signer = orThrow(signerOf(` ${skey}\n`))
      const remote = orThrow(remoteSigner(vkey, sign))
      expect(verifier).toEqual({ name, keyId, vkey, kind, verify: expect.any(Function) })
      expect(signer).toEqual({ name, keyId, vkey, sign: expect.any(Function) })
      expect(remote).toEqual({ name, keyId, vkey, sign })
      expect([verifier, signer, remote].every(Object.isFrozen)).toBe(true)
    }
  })

  it('accepts a signature of its own length and time only', () => {
    const text = new TextEncoder().encode('text\n')
    for (const [kind, found] of [
      ['log', {}],
      ['witness', { at: 1_700_000_000_000 }],
    ] as const) {
      const { vkey, skey } = newKey('example.com/key', kind, seed)
      const { verify } = orThrow(verifierOf(vkey))
      const signature = orThrow(signerOf(skey, () => 1_700_000_000_999)).sign(text) as Uint8Array
      expect(verify(text, signature)).toEqual(found)
      // A part of a larger buffer is read where it begins.
      expect(verify(text, Uint8Array.of(9, ...signature).subarray(1))).toEqual(found)
      for (const wrong of [
        signature.slice(1),
        signature.slice(0, -1),
        Uint8Array.of(...signature, 0),
        new Uint8Array(),
      ])
        expect(verify(text, wrong)).toBeUndefined()
      for (const byte of [0, 7, 8, 40, signature.length - 1]) {
        const changed = signature.with(byte, (signature[byte] as number) ^ 1)
        expect([byte, verify(text, changed)]).toEqual([byte, undefined])
      }
      expect(verify(new TextEncoder().encode('other\n'), signature)).toBeUndefined()
      expect(verify(text, signature.fill(255, 0, kind === 'log' ? 32 : 40).fill(0, 0, kind === 'log' ? 0 : 8))).toBe(
        undefined,
      )
    }
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

const sizeOf = (found: string): string => `its second line is "${found}"; expected a size in digits, at most 2^53 - 1`
const headWrong = 'the head of a checkpoint needs a size, and a root in hexadecimal digits'
const lineWrong =
  'the origin and each extension of a checkpoint must be one line that is not empty, without control characters'

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
    ['no text', '', 'its last line has no line feed'],
    ['one line', 'Head\n', sizeOf('')],
    ['two lines', 'Head\n9944\n', 'its third line is not a root in base64'],
    ['an empty origin', '\n9944\nYmFuYW5hcw==\n', 'its first line, the origin, is empty'],
    ['no newline behind its root', 'Log\n123\nYmFuYW5hcw==', 'its last line has no line feed'],
    ['a size that is no number', 'Log\nbananas\nYmFuYW5hcw==\n', sizeOf('bananas')],
    ['a negative size', 'Log\n-34\nYmFuYW5hcw==\n', sizeOf('-34')],
    ['a size of 2^53', 'Log\n9007199254740992\nYmFuYW5hcw==\n', sizeOf('9007199254740992')],
    [
      'a size of 28 digits',
      'Log\n3438945738945739845734895735\nYmFuYW5hcw==\n',
      sizeOf('3438945738945739845734895735'),
    ],
    ['a long size', `Log\n${'1'.repeat(41)}\nYmFuYW5hcw==\n`, sizeOf('1'.repeat(40))],
    ['a size with a leading zero', 'Log\n01\nYmFuYW5hcw==\n', sizeOf('01')],
    ['a root that is not base64', "Log\n123\nThisIsn'tBase64\n", 'its third line is not a root in base64'],
    ['an empty root', 'Log\n123\n\n', 'its third line is not a root in base64'],
    // The specification; transparency-dev/formats reads it.
    ['an empty extension line', 'Log\n123\nYmFuYW5hcw==\n\n\n', 'one of its lines is empty'],
  ])('with %s is refused with the reason', (_, text, reason) => {
    expect(parseCheckpoint(text)).toEqual(left({ _tag: 'BadCheckpoint', reason }))
  })

  it.each([
    ['a size below 0', { head: { size: -1, root } }, headWrong],
    ['a size with a fraction', { head: { size: 0.5, root } }, headWrong],
    ['a size of 2^53', { head: { size: 2 ** 53, root } }, headWrong],
    ['no root', { head: { size: 1, root: '' } }, headWrong],
    ['a root in capitals', { head: { size: 1, root: 'AB' } }, headWrong],
    ['a root of half bytes', { head: { size: 1, root: 'abc' } }, headWrong],
    ['no origin', { origin: '' }, lineWrong],
    ['an origin of two lines', { origin: 'a\nb' }, lineWrong],
    ['an extension with a tab', { extensions: ['a', 'b\tc'] }, lineWrong],
    ['an empty extension', { extensions: [''] }, lineWrong],
  ])('with %s is not written', (_, wrong, message) => {
    const checkpoint = { origin: 'Log', head: { size: 1, root } }
    expect(checkpointText(checkpoint)).toBe(`Log\n1\n${Buffer.from(root, 'hex').toString('base64')}\n`)
    expect(() => checkpointText({ ...checkpoint, ...wrong })).toThrow(new TypeError(message))
  })

  it.each([
    ['no extension', 'Log\n123\nYmFuYW5hcw==\n', []],
    ['the largest size', 'Log\n9007199254740991\nYmFuYW5hcw==\n', []],
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
  const withHashes = (count: number): string =>
    tlogProofText({ index: 3, path: Array.from({ length: count }, () => new Uint8Array(32)), checkpoint: specNote })
  it.each([
    ['another first line', good.replace('v1', 'v2'), 'it does not begin with c2sp.org/tlog-proof@v1'],
    ['no index', good.replace('index 3\n', ''), 'it has no index line'],
    ['nothing but its first line', `c2sp.org/tlog-proof@v1\n\n${specNote}`, 'it has no index line'],
    ['an index with a leading zero', good.replace('index 3', 'index 03'), 'it has no index line'],
    ['an index that is no number', good.replace('index 3', 'index banana'), 'it has no index line'],
    ['a negative index', good.replace('index 3', 'index -1'), 'it has no index line'],
    ['an index of 2^53', good.replace('index 3', 'index 9007199254740992'), 'it has no index line'],
    ['a hash that is not base64', good.replace(/\nAQEB.*/, '\n!!!!'), '"!!!!" is not a hash of 32 bytes in base64'],
    ['a short hash', good.replace(/\nAQEB.*/, '\nAQ=='), '"AQ==" is not a hash of 32 bytes in base64'],
    [
      'a long line for a hash',
      good.replace(/\nAQEB.*/, `\n${'x'.repeat(61)}`),
      `"${'x'.repeat(60)}" is not a hash of 32 bytes in base64`,
    ],
    ['a bad extra line', good.replace('index', 'extra !\nindex'), 'its extra line is not base64'],
    ['no empty line', good.slice(0, good.indexOf('\n\n')), 'no empty line precedes its checkpoint'],
    ['sixty-four hashes', withHashes(64), 'it has 64 hashes; a log has at most 63 levels'],
  ])('with %s is refused with the reason', (_, text, reason) => {
    expect(parseTlogProof(text)).toEqual(left({ _tag: 'BadBundle', reason }))
  })

  it('without a signed checkpoint is refused as a note', () => {
    expect(parseTlogProof(good.slice(0, good.indexOf('\n\n') + 2))).toEqual(
      left({ _tag: 'BadNote', reason: 'no empty line separates its text from its signatures' }),
    )
  })

  it('may have sixty-three hashes and the largest index, and is frozen', () => {
    const proof = orThrow(parseTlogProof(withHashes(63).replace('index 3', 'index 9007199254740991')))
    expect([proof.path.length, proof.index]).toEqual([63, 2 ** 53 - 1])
    expect([proof, proof.path].every(Object.isFrozen)).toBe(true)
  })
})
