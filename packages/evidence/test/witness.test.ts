/** What a witness is asked, and each answer by which it does not sign. */
import { createSession, memoryStore, orThrow, user, type Store } from 'indelible'
import { newKey, signerOf, signLedger, updateLedger, witnessLedger, type Witness } from '@indelible/evidence'
import { lastCheckpoint, ledgerId, listCheckpoints, parseNote, signatureLines } from '../src/internal.ts'
import { consistencyPath, storeTask } from '../../../src/store/internal.ts'
import { left } from '../../../src/json/index.ts'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { WitnessRequest, WitnessResponse } from '../src/witness.ts'

const origin = 'example.com/log'
const signers = [orThrow(signerOf(newKey(origin).skey))]
const keys = newKey('w.example', 'witness')
const signer = orThrow(signerOf(keys.skey, () => 1_700_000_000_000))
const witness: Witness = { url: 'https://w.example//', vkey: keys.vkey }
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const lineOf = (text: string, { name, keyId, sign } = signer): string =>
  signatureLines([{ name, keyId, signature: sign(utf8(text)) as Uint8Array }])

/** A store whose ledger has three rows and a checkpoint. */
const signedStore = async (): Promise<Store> => {
  const store = memoryStore()
  for (const id of ['a', 'b', 'c']) {
    await createSession(store, { id, messages: [user(id)] })
    await updateLedger(store)
  }
  await signLedger(store, { origin, signers })
  return store
}

let store: Store
let note: string
let text: string
beforeAll(async () => {
  store = await signedStore()
  ;[{ note } = { note: '' }] = await listCheckpoints(store)
  text = await textOf(store)
})

/** The text of the last checkpoint, which a witness signs. */
const textOf = async (from: Store): Promise<string> =>
  orThrow(parseNote(((await lastCheckpoint(from)) as { note: string }).note)).text

type Answer = WitnessResponse | readonly [status: number, text: string]

/** Asks the witness, which gives these answers in turn. */
const ask = async (answers: readonly (() => Answer)[], from: Store = store) => {
  const asked: (Omit<WitnessRequest, 'signal'> & { readonly url: string })[] = []
  const fetch = async (url: string, { signal, ...request }: WitnessRequest): Promise<WitnessResponse> => {
    expect(signal.aborted).toBe(false)
    const answer = (answers[asked.length] as () => Answer)()
    asked.push({ url, ...request })
    return 'status' in answer ? answer : { status: answer[0], text: async () => answer[1] }
  }
  const { refusals, signedBy } = await witnessLedger(from, [witness], { fetch })
  return { asked, refusals, signedBy }
}
const refusal = (reason: string, status?: number) => ({
  ...{ _tag: 'WitnessRefused', url: witness.url, reason },
  ...(status !== undefined && { status }),
})

it('a witness is sent the checkpoint once, whatever slashes end its address, and its signature is stored', async () => {
  const own = await signedStore()
  const { note: before } = (await lastCheckpoint(own)) as { note: string }
  const line = lineOf(await textOf(own))
  const { asked, refusals, signedBy } = await ask([() => [200, line]], own)
  expect(asked).toEqual([{ url: 'https://w.example/add-checkpoint', method: 'POST', body: `old 0\n\n${before}` }])
  expect([refusals, signedBy]).toEqual([[], ['w.example']])
  expect((await lastCheckpoint(own))?.note).toBe(before + line)
})

it('a witness that signed more than was known is sent the proof from its own size', async () => {
  for (const [size, end] of [
    [1, ''],
    [2, '\n'],
    [3, '\n'],
    [0, '\n'],
  ] as const) {
    const path = size === 0 || size === 3 ? [] : await consistencyPath(store, ledgerId, size, 3)
    const { asked, refusals } = await ask([() => [409, `${size}${end}`], () => [418, 'enough']])
    const hashes = path.map((hash) => `${Buffer.from(hash).toString('base64')}\n`).join('')
    expect(asked.map(({ body }) => body)).toEqual([`old 0\n\n${note}`, `old ${size}\n${hashes}\n${note}`])
    expect(refusals).toEqual([refusal('enough', 418)])
  }
})

describe('a witness that answers', () => {
  it.each<[string, readonly (() => Answer)[], ReturnType<typeof refusal>]>([
    ['a status', [() => [403, ' no such key\n']], refusal('no such key', 403)],
    ['a long reason', [() => [500, 'x'.repeat(201)]], refusal('x'.repeat(200), 500)],
    ['no reason', [() => [500, ' \n']], refusal('it gave no reason', 500)],
    ['a second conflict', [() => [409, '1\n'], () => [409, '2\n']], refusal('2', 409)],
    [
      'more rows than there are',
      [() => [409, '4\n']],
      refusal('it has signed 4 rows already, and this checkpoint has 3', 409),
    ],
    ...['', 'x', '01', '-1', '1\n\n', '1 row', '12345678901234567'].map(
      (output): [string, readonly (() => Answer)[], ReturnType<typeof refusal>] => [
        `the size ${JSON.stringify(output)}`,
        [() => [409, output]],
        refusal('it did not report the size that it signed last', 409),
      ],
    ),
    ['other words', [() => [200, 'thanks\n']], refusal('it did not answer with signature lines', 200)],
    ['nothing', [() => [200, '']], refusal('it did not answer with signature lines', 200)],
    [
      'the signature of another name',
      [() => [200, lineOf(text, orThrow(signerOf(newKey('x.example', 'witness').skey)))]],
      refusal('none of its signatures is by "w.example"', 200),
    ],
    [
      'the signature of another key with its name',
      [() => [200, lineOf(text, orThrow(signerOf(newKey('w.example', 'witness').skey)))]],
      refusal('none of its signatures is by "w.example"', 200),
    ],
    [
      'the signature of another text',
      [() => [200, lineOf('another\n')]],
      refusal('its signature does not match the checkpoint: it signed a different history', 200),
    ],
    [
      'an error',
      [
        () => {
          throw new Error('no route')
        },
      ],
      refusal('it could not be reached: no route'),
    ],
    [
      'an answer that breaks off',
      [() => ({ status: 200, text: async () => Promise.reject(new Error('cut')) })],
      refusal('it could not be reached: cut'),
    ],
  ])('with %s does not sign', async (_, answers, expected) => {
    const { asked, refusals, signedBy } = await ask(answers)
    expect([refusals, signedBy, asked.length > answers.length]).toEqual([[expected], [], false])
    expect(await listCheckpoints(store)).toHaveLength(1)
  })

  it('with a size from which no proof can be read does not sign', async () => {
    const nodes: Store['nodes'] = () =>
      storeTask(async () => left({ _tag: 'Io', operation: 'nodes', cause: 'gone' } as const), 'nodes')
    const { refusals } = await ask([() => [409, '1\n']], { ...store, nodes })
    expect(refusals).toEqual([refusal('could not prove that the log continues its first 1 rows')])
  })
})

describe('the answer of a witness', () => {
  /** Its line behind one of a stranger, which fills the answer up to so many bytes or letters. */
  const filled = (signed: string, length: number, lengthOf: (text: string) => number): string => {
    const line = lineOf(signed)
    for (let name = 'p'; ; name += 'p') {
      const missing = length - lengthOf(`\u2014 ${name} \n${line}`)
      if (missing % 4 === 0) return `\u2014 ${name} ${'AAAA'.repeat(missing / 4)}\n${line}`
    }
  }
  const streamOf = (bytes: Uint8Array, size: number, cancel: () => Promise<void>): ReadableStream<Uint8Array> => {
    let from = 0
    return new ReadableStream(
      {
        pull: (controller) => {
          if (from >= bytes.length) controller.close()
          else controller.enqueue(bytes.subarray(from, (from += size)))
        },
        cancel,
      },
      { highWaterMark: 0 },
    )
  }

  it.each([1000, 33_333, 1_000_000])('is read up to 100,000 bytes, in pieces of %i', async (size) => {
    for (const [length, isRead] of [
      [99_999, true],
      [100_000, true],
      [100_001, false],
    ] as const) {
      const own = await signedStore()
      const bytes = utf8(filled(await textOf(own), length, (one) => utf8(one).length))
      expect(bytes.length).toBe(length)
      let cancels = 0
      const body = streamOf(bytes, size, async () => void (cancels += 1))
      const { signedBy } = await ask([() => ({ status: 200, body, text: async () => '' })], own)
      expect([length, signedBy]).toEqual([length, isRead ? ['w.example'] : []])
      if (length > 99_999) expect(cancels).toBe(1) // its rest is not asked for
    }
  })

  it('without a body is read up to 100,000 letters', async () => {
    for (const [length, isRead] of [
      [100_000, true],
      [100_001, false],
    ] as const)
      for (const body of [undefined, null]) {
        const own = await signedStore()
        const signed = await textOf(own)
        const answer = { status: 200, text: async () => filled(signed, length, (one) => one.length) }
        const { signedBy } = await ask([() => ({ ...answer, ...(body === null && { body }) })], own)
        expect([length, signedBy]).toEqual([length, isRead ? ['w.example'] : []])
      }
  })

  it('is none if its stream can not be ended', async () => {
    const body = streamOf(utf8('x'.repeat(100_001)), 1_000_000, () => Promise.reject(new Error('stuck')))
    const { refusals } = await ask([() => ({ status: 200, body, text: async () => '' })])
    expect(refusals).toEqual([refusal('it could not be reached: stuck')])
  })
})

describe('a request to a witness', () => {
  afterEach(() => vi.useRealTimers())

  it('ends after its time, 10 seconds by default, with an aborted signal', async () => {
    for (const timeout of [undefined, 250]) {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      let signal: AbortSignal | undefined
      const { promise: sent, resolve } = Promise.withResolvers<void>()
      const asked = witnessLedger(store, [witness], {
        ...(timeout !== undefined && { timeout }),
        fetch: (_, request) => {
          signal = request.signal
          resolve()
          return new Promise(() => undefined)
        },
      })()
      await sent
      const limit = timeout ?? 10_000
      await vi.advanceTimersByTimeAsync(limit - 1)
      expect(signal?.aborted).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      expect(signal?.reason).toEqual(new Error(`it did not answer within ${limit} ms`))
      expect(orThrow(await asked).refusals).toEqual([
        refusal(`it could not be reached: it did not answer within ${limit} ms`),
      ])
      vi.useRealTimers()
    }
  })

  it('leaves no timer behind once it is answered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await ask([() => [500, 'no']])
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([-1, NaN, '5'])('of %s milliseconds is a mistake', (timeout) => {
    expect(() => witnessLedger(store, [witness], { timeout: timeout as number })).toThrow(/^timeout is /)
  })

  it('has no other options', () => {
    expect(() => witnessLedger(store, [witness], { timeOut: 5 } as never)).toThrow(/no option "timeOut"/)
  })
})

it('each witness is named in the order of the question, signed or refused, and asked from the size it last signed', async () => {
  const own = await signedStore()
  const other = newKey('x.example', 'witness')
  const two: readonly Witness[] = [
    { url: 'https://x.example', vkey: other.vkey },
    { url: 'https://w.example', vkey: keys.vkey },
  ]
  const signs = async (_: string, { body }: WitnessRequest): Promise<WitnessResponse> => {
    const sent = orThrow(parseNote(body.slice(body.indexOf('\n\n') + 2))).text
    return { status: 200, text: async () => lineOf(sent) + lineOf(sent, orThrow(signerOf(other.skey))) }
  }
  const first = await witnessLedger(own, two, { fetch: signs })
  expect([first.signedBy, first.refusals]).toEqual([['x.example', 'w.example'], []])
  expect(first).toEqual({ ...(await lastCheckpoint(own)), signedBy: first.signedBy, refusals: [] })
  expect(Object.isFrozen(first)).toBe(true)
  expect(orThrow(parseNote(first.note)).signatures.map(({ name }) => name)).toEqual([origin, 'x.example', 'w.example'])
  // Nobody is asked again, and nothing is stored again.
  const silent = () => Promise.reject(new Error('it was asked'))
  expect(await witnessLedger(own, two, { fetch: silent })).toEqual(first)
  expect(await witnessLedger(own, two.slice(0, 1), { fetch: silent })).toEqual({ ...first, signedBy: ['x.example'] })
  expect(await listCheckpoints(own)).toHaveLength(2)
  const nobody = await witnessLedger(own, [])
  expect(nobody).toEqual({ ...(await lastCheckpoint(own)), signedBy: [], refusals: [] })
  // A longer ledger: each is sent the proof from its last checkpoint, and a stranger that from the beginning.
  await createSession(own, { id: 'd' })
  await updateLedger(own)
  await signLedger(own, { origin, signers })
  const third = { url: 'https://y.example', vkey: newKey('y.example', 'witness').vkey }
  const olds = new Map<string, string>()
  const next = await witnessLedger(own, [...two, third], {
    fetch: (url, request) => {
      olds.set(url, request.body.split('\n')[0] as string)
      return signs(url, request)
    },
  })
  expect(Object.fromEntries(olds)).toEqual({
    'https://x.example/add-checkpoint': 'old 3',
    'https://w.example/add-checkpoint': 'old 3',
    'https://y.example/add-checkpoint': 'old 0',
  })
  expect(next.signedBy).toEqual(['x.example', 'w.example'])
  expect(next.refusals).toMatchObject([{ reason: 'none of its signatures is by "y.example"' }])
})

it('a witness with another key of the same name adds its signature to that of the first', async () => {
  const own = await signedStore()
  const signed = await textOf(own)
  const second = newKey('w.example', 'witness')
  const lineBy = { [keys.vkey]: lineOf(signed), [second.vkey]: lineOf(signed, orThrow(signerOf(second.skey))) }
  for (const vkey of [keys.vkey, second.vkey])
    await witnessLedger(own, [{ url: witness.url, vkey }], {
      fetch: async () => ({ status: 200, text: async () => lineBy[vkey] as string }),
    })
  const { signatures } = orThrow(parseNote((await lastCheckpoint(own))?.note as string))
  expect(signatures.map(({ name, keyId }) => `${name}+${keyId}`)).toEqual(
    [signers[0]?.vkey, keys.vkey, second.vkey].map((vkey) => vkey?.split('+').slice(0, 2).join('+')),
  )
})
