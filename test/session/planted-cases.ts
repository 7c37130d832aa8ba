/**
 * A text is planted at any place of a message, and at places that repeat it. After the message is erased, no byte of the
 * store, of an export or of an exported page has the text, however it is written there; or the receipt names the place that has it.
 */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { createSession, openSession, user, type Json, type Message, type Session, type Store } from 'indelible'
import { eraseMessages, exportSession, findMessages } from 'indelible/session'
import { exportLines } from '@indelible/transcripts'
import { htmlOf } from '@indelible/view'
import { rounds } from '../rounds.ts'

/** Everything that a store returns: the rows and the metadata of its logs, and their blocks. */
export const contentOf = async (store: Store): Promise<Buffer> => {
  const pieces: (string | Uint8Array)[] = []
  for (const { id, meta } of (await store.list({ limit: 500 })).logs) {
    const rows = await store.read(id)
    pieces.push(id, JSON.stringify(meta), ...rows.map(({ body }) => body))
    const named = rows.flatMap(({ body }) => [...body.matchAll(/"([0-9a-f]{64})"/g)].map(([, block]) => block as never))
    for (const bytes of await store.getBlocks([...new Set(named)])) if (bytes !== undefined) pieces.push(bytes)
  }
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)))
}

/** A store, and the bytes of everything in it that is not encrypted. */
export interface PlantedPlace {
  readonly store: Store
  readonly bytes: () => Promise<Buffer>
  /** Prepares the store for the erasure, such as by a compaction. */
  readonly settle?: () => Promise<Store>
}

const secrets = [
  'Grace Hopper of 12 Main Street',
  'Ada "Byron" of Größenwahn 🦆 \\ x',
  'grace.hopper@navy.example.com',
] as const

/** The spellings of a text, by hand. */
export const isIn = (bytes: Buffer, text: string): boolean => {
  const escaped = (one: string): string => JSON.stringify(one).slice(1, -1)
  const ascii = (one: string): string =>
    one.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`) // oxlint-disable-line no-control-regex
  const inBase64 = ['', ' ', '  '].map((before) => Buffer.from(`${before}${text}`).toString('base64').slice(4, -4))
  return [text, escaped(text), escaped(escaped(text)), ascii(escaped(text)), encodeURIComponent(text), ...inBase64].some((one) => bytes.includes(one)) // oxfmt-ignore
}

const name = fc.constantFrom('path', 'id', 'type', 'role', 'name', 'content', 'meta', 'text', 'raw', 'callId', 'page', 'as', 'note', 'card-no') // oxfmt-ignore
const plain: fc.Arbitrary<Json> = fc.constantFrom<Json>('x', 'text', 'user', 5, true, null, [], { type: 'text', text: 'x' }) // oxfmt-ignore

/** JSON with a text somewhere: a value, a member name, a piece of a text, or inside a text that is JSON. */
const planted = (secret: string, isWhole: boolean): fc.Arbitrary<Json> => {
  const { json } = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constant<Json>(isWhole ? secret : `about ${secret} and others`),
      plain.map((value): Json => ({ [isWhole ? secret : `about ${secret}`]: value })),
      fc.tuple(name, tie('json'), name, plain).map(([a, inner, b, value]): Json => ({ [b]: value, [a]: inner })),
      fc.tuple(plain, tie('json')).map(([value, inner]): Json => [value, inner]),
      tie('json').map((inner): Json => JSON.stringify(inner)),
    ),
  }))
  return json
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** A message with a text. Its call, if it has one, is `c`. */
const plantedMessage = (secret: string, isWhole: boolean): fc.Arbitrary<Message> => {
  const json = planted(secret, isWhole)
  const x = { type: 'text', text: 'x' } as const
  const texts = isWhole
    ? fc.constant(secret)
    : fc.constantFrom(`My name is ${secret}.`, `${'long '.repeat(1500)}${secret}`)
  const inOtherForms = [
    texts.map((text): Message => ({ role: 'user', content: [{ type: 'file', source: { type: 'base64', mediaType: 'text/plain', data: base64(text) } }] })), // oxfmt-ignore
    texts.map((text): Message => ({ role: 'user', content: [{ type: 'image', source: { type: 'url', url: `data:text/plain;base64,${base64(text)}` } }] })), // oxfmt-ignore
    fc.constant<Message>({ role: 'user', content: [{ type: 'image', source: { type: 'url', url: `https://example.com/?q=${encodeURIComponent(secret)}` } }] }), // oxfmt-ignore
    fc.constant<Message>({ role: 'assistant', content: [{ type: 'tool_call', id: 'c', name: 'f', arguments: `not JSON ${secret}` }] }), // oxfmt-ignore
  ]
  return fc.oneof(
    texts.map((text): Message => ({ role: 'user', content: [x, { type: 'text', text }] })),
    texts.map((text): Message => ({ role: 'assistant', content: [{ type: 'refusal', text }] })),
    texts.map((text): Message => ({
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'x', summary: ['x', text] }],
    })),
    fc.constant<Message>({ role: 'user', name: secret, content: [x] }),
    fc.constant<Message>({ role: 'user', content: [{ type: 'file', name: secret, source: { type: 'url', url: 'https://example.com' } }] }), // oxfmt-ignore
    json.map((value): Message => ({ role: 'user', content: [x], meta: { app: value } })),
    json.map((value): Message => ({ role: 'user', content: [{ ...x, meta: { app: value } }] })),
    json.map((raw): Message => ({ role: 'assistant', content: [{ type: 'provider', provider: 'p', raw }] })),
    json.map((value): Message => ({ role: 'assistant', content: [{ type: 'tool_call', id: 'c', name: 'f', arguments: JSON.stringify(value) }] })), // oxfmt-ignore
    ...(isWhole ? [] : inOtherForms),
  )
}

/** Appends something that repeats a text, in the message's session or beside it. */
interface Copy {
  readonly name: string
  /** The place that the receipt names; undefined: the copy is erased with the message. */
  readonly remains: object | undefined
  readonly make: (place: {
    readonly store: Store
    readonly session: Session
    readonly secret: string
  }) => PromiseLike<unknown>
}

const noteCopy = (name: string, note: (secret: string) => object): Copy => ({
  name,
  remains: undefined,
  make: ({ session, secret }) => session.note(note(secret) as never),
})

const copies: readonly Copy[] = [
  noteCopy('a note of the application', (secret) => ({ type: 'application', namespace: 'a', content: { deep: [{ id: secret }] } })), // oxfmt-ignore
  noteCopy('a summary', (secret) => ({ type: 'summary', from: 1, to: 2, text: `They said ${secret}.` })),
  noteCopy('a receipt', (secret) => ({ type: 'receipt', len: 2, contextDigest: 'a'.repeat(64), model: 'm', details: { asked: secret } })), // oxfmt-ignore
  {
    name: 'the metadata',
    remains: { what: 'metadata', session: 's' },
    make: ({ session, secret }) => session.update((metadata) => void (metadata['title'] = secret)),
  },
  {
    name: 'the metadata before',
    remains: undefined,
    make: async ({ session, secret }) => {
      await session.update((metadata) => void (metadata['title'] = secret))
      await session.update((metadata) => void (metadata['title'] = 'x'))
    },
  },
  {
    name: 'a message of another session',
    remains: { what: 'text', rows: [{ id: 'o', position: 0, message: 0 }] },
    make: ({ store, secret }) => createSession(store, { id: 'o', messages: [user(`I know ${secret}.`)] }),
  },
  {
    name: 'a long message of another session',
    remains: { what: 'text', rows: [{ id: 'o', position: 0, message: 0 }] },
    make: ({ store, secret }) => createSession(store, { id: 'o', messages: [user(`${'x '.repeat(4000)}${secret}`)] }),
  },
  {
    name: 'a file, the meta and arguments of another session',
    remains: { what: 'text', rows: [0, 1, 2, 3].map((position) => ({ id: 'o', position, message: position })) },
    make: ({ store, secret }) =>
      createSession(store, {
        id: 'o',
        messages: [
          {
            role: 'user',
            content: [{ type: 'file', name: secret, source: { type: 'url', url: 'https://example.com' } }],
          },
          { role: 'user', content: [{ type: 'text', text: 'x', meta: { app: { id: secret } } }] },
          { role: 'assistant', content: [{ type: 'tool_call', id: 'd', name: 'f', arguments: JSON.stringify({ type: secret }) }] }, // oxfmt-ignore
          { role: 'user', content: [{ type: 'file', source: { type: 'base64', mediaType: 'text/plain', data: base64(`I know ${secret} well.`) } }] }, // oxfmt-ignore
        ],
      }),
  },
  {
    name: 'the id of an operation',
    remains: { what: 'operation', session: 's' },
    make: ({ session, secret }) => session.append(user('z'), { operation: `for ${secret}` }),
  },
  {
    name: 'the id of a session',
    remains: { what: 'metadata', session: expect.any(String) as string },
    make: ({ store, secret }) => createSession(store, { id: secret }),
  },
]

/** Describes the property for a kind of store. */
export const plantedCases = (kind: string, open: () => Promise<PlantedPlace>): void => {
  it(`an erased text is in no byte of ${kind}, or its place is named`, async () => {
    const given = fc.tuple(fc.constantFrom(...secrets), fc.boolean()).chain(([secret, isWhole]) =>
      fc.record({
        secret: fc.constant(secret),
        message: plantedMessage(secret, isWhole),
        // Only whole texts are searched for elsewhere.
        copies: fc.constantFrom<readonly Copy[]>([], ...(isWhole ? copies.map((copy) => [copy]) : [])),
        all: fc.boolean(),
      }),
    )
    await fc.assert(
      fc.asyncProperty(given, async ({ secret, message, copies: made, all }) => {
        const place = await open()
        let { store } = place
        const session = await createSession(store, { id: 's', messages: [user('x'), message, user('y')] })
        for (const copy of made) await copy.make({ store, session, secret })
        await session.close()
        if (place.settle !== undefined) store = await place.settle()
        expect(await findMessages(store, 's', { matching: patternOf(secret) })).toContain(1)
        const receipt = await eraseMessages(store, 's', all ? { all: true } : [1], { reason: 'asked to' })
        expect(receipt.residue.filter(({ where }) => where !== 'dead rows')).toEqual([])
        const named = receipt.remains.filter(({ what }) => places.has(what))
        const stay = made.filter(({ remains }) => remains !== undefined)
        const page = await htmlOf(store, 's', { version: '0' })
        const exported = [...exportLines(await exportSession(store, 's')), ...page].join('')
        const isStill = isIn(Buffer.concat([await place.bytes(), Buffer.from(exported)]), secret)
        if (made.length === 0) expect([isStill, named]).toEqual([false, []])
        if (isStill) expect(named).not.toEqual([]) // such as a note that repeats a text of `meta`
        for (const { name, remains } of stay)
          expect([name, named]).toEqual([name, expect.arrayContaining([expect.objectContaining(remains as object)])])
        expect([...(await openSession(store, 's')).view()][1]?.content[0]?.type).toBe('erased')
        await store.close()
      }),
      { numRuns: rounds(12, 300) },
    )
  })
}

const places: ReadonlySet<string> = new Set(['text', 'metadata', 'block', 'operation', 'lease', 'scope'])
const patternOf = (secret: string): RegExp => new RegExp(secret.replaceAll(/[^a-z0-9]+/gi, '.{1,9}').slice(0, 40), 's')
