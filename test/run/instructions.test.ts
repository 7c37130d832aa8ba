/** `instructions`: a system prompt of the run in place of the record's, stored once, named by receipts. */
import { Anthropic } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OpenAI } from 'openai'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  assistant,
  createSession,
  faultMessage,
  memoryStore,
  openSession,
  system,
  textOf,
  user,
  verifySession,
  type Message,
  type Store,
} from 'indelible'
import { copySession, eraseMessages, type Session } from 'indelible/session'
import { run, scriptedModel, sessionHandler, turn, type Model } from 'indelible/run'
import { anthropicModel } from 'indelible/run/anthropic'
import { geminiModel } from 'indelible/run/gemini'
import { openaiChatModel, openaiResponsesModel } from 'indelible/run/openai'
import type { BlockId } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { ok } from '../task-results.ts'
import { providerServer, type ProviderServer } from './provider-server.ts'
import type { ReceiptNote } from '../../src/notes/note.ts'

/** A model that keeps what it was sent, and answers `Yes.` */
const keeping = (): Model & { readonly sent: (readonly Message[])[] } => {
  const sent: (readonly Message[])[] = []
  const answers = scriptedModel(
    (function* () {
      for (;;) yield assistant('Yes.')
    })(),
  )
  return {
    name: 'keeping',
    sent,
    stream: (request, signal) => {
      sent.push([...request.messages])
      return answers.stream(request, signal)
    },
  }
}

const receiptsOf = (session: Session): readonly ReceiptNote[] =>
  [...session.notes()].filter((note) => note.type === 'receipt')

/** The block that the first receipt names. */
const instructionsOf = (session: Session): BlockId => {
  const [id] = receiptsOf(session).flatMap(({ instructions }) => instructions ?? [])
  if (id === undefined) throw new Error('no receipt names instructions')
  return id
}

const textsOf = (messages: readonly Message[]): readonly string[] =>
  messages.map((message) => `${message.role}: ${textOf(message)}`)

const prompt = (deploy: number): string =>
  `You answer for a shop. Deploy ${deploy}. ${'Be kind and short. '.repeat(500)}`

const oldPrompt = [system('You are old.'), system('And verbose.')]

describe('what is sent', () => {
  it('has the instructions in place of the leading system messages, and the record keeps those', async () => {
    const model = keeping()
    const session = await ok(createSession(memoryStore(), { messages: [...oldPrompt, user('a'), system('Later.')] }))
    await turn(session, 'b', { model, instructions: 'You are new.' }).result()
    await turn(session, 'c', { model }).result()
    expect(textsOf(model.sent[0] ?? [])).toEqual(['system: You are new.', 'user: a', 'system: Later.', 'user: b'])
    expect(textsOf(model.sent[1] ?? []).slice(0, 3)).toEqual([
      'system: You are old.',
      'system: And verbose.',
      'user: a',
    ])
    expect(
      session
        .view()
        .toArray()
        .map(({ role }) => role),
    ).toEqual([...['system', 'system', 'user', 'system', 'user', 'assistant', 'user', 'assistant']])
  })

  it('has no system message for an empty text, and is the same without a session and within a budget', async () => {
    const model = keeping()
    const view = [...oldPrompt, user('a')]
    await run({ model, view, instructions: '' }).result()
    await run({ model, view, instructions: 'New.', budget: 10_000 }).result()
    await run({ model, input: 'a', instructions: 'New.' }).result()
    expect(model.sent.map(textsOf)).toEqual([['user: a'], ['system: New.', 'user: a'], ['system: New.', 'user: a']])
  })

  it('fits the budget, of which the replaced messages take nothing', async () => {
    const long = system('Old and long. '.repeat(2000))
    const instructions = 'New and long. '.repeat(2000)
    const session = await ok(createSession(memoryStore(), { messages: [long, user('a'), assistant('b')] }))
    const model = keeping()
    await turn(session, 'c', { model, instructions, budget: 12_000 }).result()
    expect(model.sent[0]?.length).toBe(4)
    const refused = await turn(session, 'd', { model, instructions: instructions.repeat(3), budget: 12_000 }).result()()
    expect(refused).toMatchObject({ left: { _tag: 'NoContext', cause: { _tag: 'MinimumDoesNotFit' } } })
  })

  it('is refused unless it is a text', () => {
    const wrong = { model: keeping(), view: [user('a')], instructions: 5 as unknown as string }
    expect(() => run(wrong)).toThrow('run: `instructions` is 5; expected the text of the system prompt')
  })
})

describe('each provider', () => {
  let server: ProviderServer | undefined
  afterEach(() => server?.close())

  const models: readonly (readonly [name: string, system: (url: string) => Model, prompt: (body: Body) => unknown])[] =
    [
      [
        'Anthropic',
        (url) =>
          anthropicModel(new Anthropic({ apiKey: 'k', baseURL: url, maxRetries: 0 }), {
            model: 'claude-x',
            cache: false,
          }),
        ({ system: said }) => said,
      ],
      [
        'OpenAI Chat',
        (url) => openaiChatModel(new OpenAI({ apiKey: 'k', baseURL: url, maxRetries: 0 }), { model: 'gpt-x' }),
        ({ messages }) => messages?.filter(({ role }) => role === 'system').map(({ content }) => content),
      ],
      [
        'OpenAI Responses',
        (url) => openaiResponsesModel(new OpenAI({ apiKey: 'k', baseURL: url, maxRetries: 0 }), { model: 'gpt-x' }),
        ({ input }) => input?.filter(({ role }) => role === 'system').map(({ content }) => content),
      ],
      [
        'Gemini',
        (url) =>
          geminiModel(new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url } }), { model: 'gemini-3-pro' }),
        ({ systemInstruction }) => systemInstruction,
      ],
    ]
  interface Body {
    readonly system?: unknown
    readonly systemInstruction?: unknown
    readonly messages?: readonly { readonly role: string; readonly content: unknown }[]
    readonly input?: readonly { readonly role: string; readonly content: unknown }[]
  }

  it.each(models)('%s gets them as its system prompt, and only them', async (_, modelAt, promptOf) => {
    server = await providerServer(() => ({ status: 400, body: { error: { message: 'no' } } }))
    await run({ model: modelAt(server.url), view: [...oldPrompt, user('a')], instructions: 'You are new.' }).result()()
    const { body } = server.requests[0] ?? { body: {} }
    expect(JSON.stringify(promptOf(body))).toContain('You are new.')
    expect(JSON.stringify(body)).not.toContain('You are old.')
  })

  it.each(models)(
    '%s refuses a second system prompt in the parameters, before anything is sent',
    async (_, modelAt) => {
      server = await providerServer(() => ({ status: 400, body: { error: { message: 'no' } } }))
      const model = modelAt(server.url)
      for (const name of ['system', 'instructions', 'systemInstruction']) {
        const parameters = { [name]: 'You are new.' }
        const refused = await run({ model, view: [system('Old.'), user('a')], parameters }).result()()
        expect(refused._tag === 'Left' && faultMessage(refused.left)).toContain(
          `the request has a system prompt twice, as \`parameters.${name}\` and as a system message; pass it as \`instructions\` of the run`,
        )
      }
      expect(server.requests).toEqual([])
      await run({ model, view: [user('a')], parameters: { system: 'Alone.' } }).result()()
      expect(server.requests.length).toBe(1)
    },
  )
})

const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'instructions-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const openFile = async (path: string): Promise<Store> => {
  const store = await ok(sqliteStore({ path }))
  onTestFinished(async () => void (await store.close()()))
  return store
}

describe('the receipt', () => {
  it('names the block with the text, which the store has once for all sessions and turns', async () => {
    const path = join(folder(), 's.db')
    const store = await openFile(path)
    for (const id of ['one', 'two']) {
      const session = await ok(createSession(store, { id }))
      for (let at = 0; at < 5; at++)
        await turn(session, `q${at}`, { model: keeping(), instructions: prompt(1) }).result()
      const named = new Set(receiptsOf(session).map(({ instructions }) => instructions))
      expect(named.size).toBe(1)
      const [bytes] = await ok(store.getBlocks([...named].flatMap((id) => id ?? [])))
      expect(new TextDecoder().decode(bytes)).toBe(prompt(1))
    }
    await store.close()()
    const file = readFileSync(path, 'latin1')
    expect(file.split('Deploy 1.').length - 1).toBe(1)
  })

  it('grows the record by a digest, not by the prompt, when every turn is a deploy', async () => {
    const store = memoryStore()
    const session = await ok(createSession(store))
    const model = keeping()
    for (let at = 0; at < 20; at++) await turn(session, `q${at}`, { model, instructions: prompt(at) }).result()
    expect(new Set(receiptsOf(session).map(({ instructions }) => instructions)).size).toBe(20)
    const rows = await ok(store.read(session.id))
    expect(rows.reduce((sum, { body }) => sum + body.length, 0)).toBeLessThan(20 * 2000)
    expect(rows.some(({ body }) => body.includes('Be kind'))).toBe(false)
  })

  it('of a run with `sessionHandler` names it too, without secrets', async () => {
    const store = memoryStore()
    const redact = { rules: [{ name: 'own', pattern: /hunter2/ }] }
    const session = await ok(createSession(store, { redact }))
    const plain = await ok(createSession(store))
    const options = { model: keeping(), receipts: true, instructions: 'The password is hunter2.' }
    for (const [one, handler] of [
      [session, sessionHandler(session)],
      [plain, sessionHandler(plain, { redact })],
    ] as const) {
      await one.append(user('a'))
      await run({ ...options, view: one.conversation(), handlers: [handler] }).result()
    }
    for (const one of [session, plain]) {
      const [bytes] = await ok(store.getBlocks(receiptsOf(one).flatMap(({ instructions }) => instructions ?? [])))
      expect(new TextDecoder().decode(bytes)).toMatch(/^The password is (?!hunter2)\S/)
    }
  })

  it('is erased with its text, by erasing everything in the sessions that have it', async () => {
    const path = join(folder(), 's.db')
    const store = await openFile(path)
    const sessions: Session[] = []
    for (const id of ['one', 'two']) {
      const session = await ok(createSession(store, { id, erasable: true }))
      await turn(session, 'a', { model: keeping(), instructions: prompt(7) }).result()
      sessions.push(session)
    }
    const [one, two] = sessions as [Session, Session]
    const id = instructionsOf(one)
    await ok(eraseMessages(one, { all: true }))
    expect(await ok(store.hasBlocks([id]))).toEqual([true])
    await ok(eraseMessages(two, { all: true }))
    expect(await ok(store.hasBlocks([id]))).toEqual([false])
    await ok(verifySession(store, 'one'))
    await store.close()()
    expect(readFileSync(path, 'latin1')).not.toContain('Deploy 7.')
  })

  it('is copied with its text, and its copy is erased as well', async () => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's', erasable: true }))
    await turn(session, 'a', { model: keeping(), instructions: prompt(3) }).result()
    const other = memoryStore()
    await ok(copySession(store, other, 's'))
    const id = instructionsOf(session)
    const [bytes] = await ok(other.getBlocks([id]))
    expect(new TextDecoder().decode(bytes)).toBe(prompt(3))
    expect(await ok(verifySession(other, 's'))).toMatchObject({ missing: [] })
    await ok(eraseMessages(other, 's', { all: true }))
    expect(await ok(other.hasBlocks([id]))).toEqual([false])
  })

  it('of an encrypted session has a text that only keys open', async () => {
    const path = join(folder(), 's.db')
    const bare = await openFile(path)
    const store = withKeys(bare, keyRing([newHostKey('host')]))
    const session = await ok(createSession(store, { id: 's' }))
    for (const at of [1, 2, 1]) await turn(session, `q${at}`, { model: keeping(), instructions: prompt(at) }).result()
    const ids = receiptsOf(session).flatMap(({ instructions }) => instructions ?? [])
    const found = await ok(store.getBlocks(ids))
    expect(found.map((bytes) => new TextDecoder().decode(bytes))).toEqual([prompt(1), prompt(2), prompt(1)])
    const again = await ok(openSession(store, 's'))
    expect(again.len).toBe(6)
    expect(await ok(verifySession(store, 's'))).toMatchObject({ missing: [] })
    const { remains } = await ok(eraseMessages(again, { all: true }))
    expect(remains).toEqual(expect.arrayContaining([expect.objectContaining({ what: 'block', kept: true })]))
    await bare.close()()
    expect(readFileSync(path, 'latin1')).not.toContain('Deploy 1.')
  })

  it('of a plain session that is copied into a store with keys keeps its text', async () => {
    const store = memoryStore()
    const session = await ok(createSession(store, { id: 's' }))
    await turn(session, 'a', { model: keeping(), instructions: prompt(4) }).result()
    const keyed = withKeys(memoryStore(), keyRing([newHostKey('host')]))
    await ok(copySession(store, keyed, 's'))
    const [bytes] = await ok(keyed.getBlocks(receiptsOf(session).flatMap(({ instructions }) => instructions ?? [])))
    expect(new TextDecoder().decode(bytes)).toBe(prompt(4))
  })
})
