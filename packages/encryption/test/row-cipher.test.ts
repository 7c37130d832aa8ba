/** A text of a row opens as that row alone; and what was sealed by earlier versions still opens. */
import crypto, { createHash } from 'node:crypto'
import { createSession, memoryStore, user, type Store } from 'indelible'
import { expect, it, vi } from 'vitest'
import { keyRing } from '../src/ring.ts'
import { withKeys } from '../src/with-keys.ts'
import { decryptRow, encryptedRowBody, type RowBinding } from '../src/row-cipher.ts'

const key = new Uint8Array(32).fill(7)
const [a, b] = ['ab'.repeat(32), 'cd'.repeat(32)] as const
const places: readonly RowBinding[] = (['entry', 'note'] as const).flatMap((kind) =>
  [undefined, 'ab'.repeat(16)].flatMap((salt) =>
    [undefined, a, b].flatMap((erased) =>
      [0, 12].flatMap((position) => [1_700_000_000_000, -5].map((at) => ({ kind, salt, erased, position, at }))),
    ),
  ),
)
const open = (place: RowBinding, body: string, secret = key): string | undefined =>
  decryptRow({ ...place, index: 0, body } as never, secret)?.body

it('property: an encrypted row opens only at its own place with its own key and blocks', () => {
  for (const place of places) {
    const body = encryptedRowBody({ name: 'k', key }, place, 'a text é', [a] as never)
    expect(places.filter((at) => open(at, body) !== undefined)).toEqual([place])
    expect(open(place, body)).toBe('a text é')
    expect(open(place, body, new Uint8Array(32).fill(8))).toBeUndefined()
    for (const changed of [body.replace(a, b), body.replace('"k.', '"l.')]) {
      expect(changed).not.toBe(body)
      expect(open(place, changed)).toBeUndefined()
    }
  }
})

const stored: readonly (readonly [RowBinding, string])[] = [
  [
    { kind: 'entry', position: 3, at: 1700000000000, salt: undefined, erased: undefined },
    '{"encrypted":"k.mZTntjRFPNuh2QdeChWNzI0cq/dJ4tiZvVKe0g==xPpvRwnQbn4Cf+U=","blocks":["abababababababababababababababababababababababababababababababab"]}',
  ],
  [
    { kind: 'note', position: 0, at: -5, salt: 'abababababababababababababababab', erased: undefined },
    '{"encrypted":"k.KXT1G/xolWT/7JZ7IUbEGj8s2Rzu+MDOjquWIw==FVWNfuz0oqCjsS4=","blocks":["abababababababababababababababababababababababababababababababab"]}',
  ],
  [
    {
      kind: 'entry',
      position: 12,
      at: 0,
      salt: 'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd',
      erased: 'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd',
    },
    '{"encrypted":"k.E40yaiv8BUUUlRWuUMzvS+YNTgqpFY3iXRyxmA==aR6eqk5i88Y3/Is=","blocks":["abababababababababababababababababababababababababababababababab"]}',
  ],
]

it('encrypted bodies of earlier versions open', () => {
  for (const [place, body] of stored) expect([place, open(place, body)]).toEqual([place, 'said before'])
})

it.each(['none', 'node:crypto', 'node:buffer'])(
  'the portable cipher is used where the runtime has not both modules of its own, but only %s',
  async (only) => {
    const { getBuiltinModule } = process
    const apart = `../src/aes.ts?only=${only}`
    Object.assign(process, { getBuiltinModule: (name: string) => (name === only ? getBuiltinModule(name) : undefined) })
    const module = import(apart) as Promise<{ readonly native: unknown }>
    const loaded = await module.finally(() => Object.assign(process, { getBuiltinModule }))
    expect(loaded.native).toBeUndefined()
  },
)

it('an append encrypts each row once, derives no key, and hashes as often as a plain one', async () => {
  const calls = [vi.spyOn(crypto, 'createCipheriv'), vi.spyOn(crypto, 'createHmac')]
  try {
    const counted = async (withRing: (store: Store) => Store): Promise<readonly number[]> => {
      let hashes = 0
      const hash = (bytes: Uint8Array): Uint8Array => {
        hashes += 1
        return createHash('sha256').update(bytes).digest()
      }
      const session = await createSession(withRing(memoryStore({ hash })))
      await session.append(user('first'))
      for (const call of calls) call.mockClear()
      hashes = 0
      for (let index = 0; index < 8; index++) await session.append(user(`message ${index}`))
      return [hashes, ...calls.map(({ mock }) => mock.calls.length)]
    }
    const [hashes] = await counted((store) => store)
    const ring = keyRing([{ id: 'host', key }])
    expect(await counted((store) => withKeys(store, ring))).toEqual([hashes, 8, 0])
  } finally {
    for (const call of calls) call.mockRestore()
  }
})
