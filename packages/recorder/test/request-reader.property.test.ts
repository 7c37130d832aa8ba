/**
 * A request that continues earlier ones is read only as far as it is new. What comes out must be what the request says by
 * itself: for lists that grow, are cut, change in the middle, come in turns, and whose cache marks move, in all formats.
 */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLeft, isObject, sortKeys, type Json } from 'indelible/internal/json'
import { listSessions, memoryStore, openSession, type Message } from 'indelible'
import { detailsOf, recordingFetch, sentMessages } from '@indelible/recorder'
import { formsOf } from '../src/requests/content.ts'
import { identityOf } from '../src/messages/identity.ts'
import { toSentMessage } from '../src/conversations/receipt.ts'
import { RequestReader } from '../src/requests/request-reader.ts'
import { apiOf, parseRequestBody, type ObservedRequest } from '../src/requests/wire.ts'
import type { Api } from '../src/apis/index.ts'
import { rounds } from '../../../test/rounds.ts'

const text = fc.constantFrom('a', 'ends in space ', '', 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz', 'déjà ☃', '\ud800')
const id = fc.constantFrom('c1', 'c2', 'c3', 'x'.repeat(70))
const name = fc.constantFrom('look', 'day', 'not a name')
const args = fc.constantFrom('{}', '{"b":1,"a":[2]}', '{"broken', '')
const mark = fc.constantFrom({}, {}, { cache_control: { type: 'ephemeral' } })
/** Fields that no format knows, which are kept. They differ in what a careless comparison takes for the same. */
const kept = fc
  .constantFrom(
    '{}',
    '{}',
    '{"k":{"a":1,"b":2}}',
    '{"k":{"b":2,"a":1}}',
    '{"k":{"a":1}}',
    '{"k":{"a":1,"b":null}}',
    '{"k":[1,2]}',
    '{"k":[1,2,3]}',
    '{"k":{"0":1,"1":2}}',
    '{"k":{"0":1,"1":2,"length":2}}',
    '{"k":{"__proto__":{"a":1}}}',
    '{"k":{"__proto__":{"a":2}}}',
    '{"k":{"toString":1}}',
    '{"k":null}',
    '{"k":"1"}',
    '{"k":1}',
    '{"k":true}',
    '{"l":{"a":1,"b":2}}',
  )
  .map((json) => JSON.parse(json) as object)
const object = (fields: { readonly [name: string]: unknown }): fc.Arbitrary<object> =>
  fc.record(
    Object.fromEntries(
      Object.entries(fields).map(([field, value]) => [
        field,
        typeof value === 'object' && value !== null && 'generate' in value
          ? (value as fc.Arbitrary<unknown>)
          : fc.constant(value),
      ]),
    ),
  )
const marked = (value: fc.Arbitrary<object>): fc.Arbitrary<object> =>
  fc.tuple(value, kept, mark).map(([fields, ...more]) => Object.assign({}, fields, ...more) as object)
const withKept = (value: fc.Arbitrary<object>): fc.Arbitrary<object> =>
  fc.tuple(value, kept).map(([fields, more]) => Object.assign({}, fields, more))
const some = (...values: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> =>
  fc.array(fc.oneof(...values), { maxLength: 3 })

interface Format {
  readonly url: string
  readonly list: string
  readonly element: fc.Arbitrary<unknown>
}

const anthropicText = marked(object({ type: 'text', text }))
const formats: { readonly [api: string]: Format } = {
  anthropic: {
    url: 'https://api.anthropic.com/v1/messages',
    list: 'messages',
    element: fc.oneof(
      object({ role: fc.constantFrom('user', 'assistant', 'system', 'user', 'assistant'), content: text }),
      object({
        role: 'user',
        content: some(
          anthropicText,
          marked(object({ type: 'tool_result', tool_use_id: id, content: text })),
          object({ type: 'image', source: object({ type: 'url', url: text }) }),
        ),
      }),
      object({
        role: 'assistant',
        content: some(
          anthropicText,
          object({ type: 'tool_use', id, name, input: object({ path: text, cache_control: text }) }),
          object({ type: 'thinking', thinking: text, signature: text }),
        ),
      }),
    ),
  },
  'openai-chat': {
    url: 'https://api.openai.com/v1/chat/completions',
    list: 'messages',
    element: fc.oneof(
      object({ role: fc.constantFrom('user', 'assistant', 'system', 'developer'), content: text }),
      object({ role: 'user', content: some(marked(object({ type: 'text', text }))) }),
      object({ role: 'tool', tool_call_id: id, content: text }),
      object({ role: 'function', name, content: text }),
      object({ role: 'assistant', content: null, function_call: object({ name, arguments: args }) }),
      object({
        role: 'assistant',
        content: text,
        tool_calls: some(object({ id, type: 'function', function: object({ name, arguments: args }) })),
      }),
    ),
  },
  'openai-responses': {
    url: 'https://api.openai.com/v1/responses',
    list: 'input',
    element: fc.oneof(
      object({ role: fc.constantFrom('user', 'assistant', 'developer'), content: text }),
      object({ type: 'message', role: 'user', content: some(withKept(object({ type: 'input_text', text }))) }),
      object({ type: 'message', role: 'assistant', id, content: some(object({ type: 'output_text', text })) }),
      object({ type: 'reasoning', id, summary: some(object({ type: 'summary_text', text })) }),
      object({ type: 'function_call', call_id: id, name, arguments: args }),
      object({ type: 'function_call_output', call_id: id, output: text }),
      object({ type: 'custom_tool_call', call_id: id, name, input: text }),
      object({ type: 'custom_tool_call_output', call_id: id, output: text }),
      object({ type: 'local_shell_call', id, call_id: id, action: object({ type: 'exec' }) }),
      object({ type: 'local_shell_call_output', id, output: text }),
      object({
        type: 'shell_call',
        call_id: id,
        action: object({}),
        environment: object({ type: 'container_reference' }),
      }),
      object({ type: 'shell_call_output', call_id: id, output: some(object({ stdout: text })) }),
      object({ type: 'web_search_call', id }),
    ),
  },
  gemini: {
    url: 'https://generativelanguage.googleapis.com/v1beta/models/m:generateContent',
    list: 'contents',
    element: fc.oneof(
      object({ role: fc.constantFrom('user', 'model'), parts: some(withKept(object({ text }))) }),
      object({
        role: 'model',
        parts: fc.array(object({ functionCall: object({ name, args: object({}) }) }), { maxLength: 2 }),
      }),
      object({ role: 'model', parts: some(object({ functionCall: object({ id, name, args: object({}) }) })) }),
      object({
        role: 'user',
        parts: some(object({ functionResponse: object({ name, response: object({ output: text }) }) })),
      }),
      object({ role: 'user', parts: some(object({ functionResponse: object({ id, name, response: object({}) }) })) }),
      object({ text }),
      text,
    ),
  },
}

type Change =
  | { readonly kind: 'append'; readonly elements: readonly unknown[] }
  | { readonly kind: 'replace'; readonly at: number; readonly element: unknown }
  | { readonly kind: 'field'; readonly at: number; readonly fields: object }
  | { readonly kind: 'cut'; readonly by: number }
  | { readonly kind: 'fork'; readonly at: number }
  | { readonly kind: 'other'; readonly elements: readonly unknown[] }
  | { readonly kind: 'unreadable'; readonly at: number }

const changes = (element: fc.Arbitrary<unknown>): fc.Arbitrary<readonly Change[]> => {
  const at = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
  return fc.array(
    fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constant('append' as const), elements: fc.array(element, { maxLength: 12 }) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('replace' as const), at, element }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('field' as const), at, fields: kept }) },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant('cut' as const), by: fc.oneof(fc.nat(20), fc.constant(8)) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('fork' as const), at }) },
      fc.record({ kind: fc.constant('other' as const), elements: fc.array(element, { maxLength: 4 }) }),
      fc.record({ kind: fc.constant('unreadable' as const), at }),
    ),
    { minLength: 3, maxLength: 15 },
  )
}

/** The list after a change. `fork` is an earlier list again, `other` a new one. */
const changed = (lists: readonly (readonly unknown[])[], change: Change): readonly unknown[] => {
  const last = lists.at(-1) ?? []
  switch (change.kind) {
    case 'append':
      return [...last, ...change.elements]
    case 'replace':
      return last.with(Math.floor(change.at * last.length), change.element)
    case 'field':
      return last.map((value, index) =>
        index === Math.floor(change.at * last.length) && isObject(value)
          ? Object.assign({}, value, change.fields)
          : value,
      )
    case 'cut':
      return last.slice(0, Math.max(0, last.length - change.by))
    case 'fork':
      return lists[Math.floor(change.at * lists.length)] ?? []
    case 'other':
      return change.elements
    case 'unreadable':
      return last.toSpliced(Math.floor(change.at * last.length), 0, 7)
  }
}

/** An element, also with a field that no format knows. */
const withMore = (element: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc
    .tuple(element, fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, kept))
    .map(([one, more]) => (isObject(one) ? Object.assign({}, one, more) : one))

describe.each(Object.entries(formats))('a growing list of %s', (_, { url, list, element }) => {
  const request: ObservedRequest = { method: 'POST', url, header: () => undefined }
  const api = apiOf(request) as Api
  it('is read as if it was the first', () => {
    fc.assert(
      fc.property(changes(withMore(element)), (steps) => {
        const forms = formsOf({ redact: true })
        const reader = new RequestReader(forms)
        const lists: (readonly unknown[])[] = []
        for (const step of steps) {
          if (step.kind === 'replace' && (lists.at(-1) ?? []).length === 0) continue
          const next = changed(lists, step)
          if (step.kind !== 'unreadable') lists.push(next)
          const body = JSON.stringify({ model: 'm', [list]: next })
          const whole = parseRequestBody(api, body, request)
          const read = reader.parse(api, body, request)
          expect(read).toEqual(whole)
          expect(JSON.stringify(read)).toBe(JSON.stringify(whole)) // the order of fields, too
          if (isLeft(read) || isLeft(whole)) continue
          const recorded = reader.recorded(read.right).messages
          const own = structuredClone(whole.right.messages).map((message) => forms.asked(message as Message))
          expect(recorded).toEqual(own)
          expect(recorded.map(identityOf)).toEqual(structuredClone(own).map((message) => identityOf(message)))
        }
      }),
      { numRuns: rounds(100, 2000) },
    )
  })

  it('has the same objects for what it had before', () => {
    const reader = new RequestReader(formsOf({}))
    const elements = fc
      .sample(element, { numRuns: 400, seed: 62 })
      .filter((value) => typeof value === 'object' && value !== null && !('text' in value))
    let before: readonly Message[] = []
    for (let len = 20; len <= elements.length; len += 20) {
      const read = reader.parse(api, JSON.stringify({ model: 'm', [list]: elements.slice(0, len) }), request)
      if (isLeft(read)) throw new Error(read.left)
      const { messages } = read.right
      const same = messages.filter((message, index) => message === before[index]).length
      expect(same).toBeGreaterThanOrEqual(before.length - 1)
      before = messages
    }
    expect(before.length).toBeGreaterThan(50)
  })
})

it.each(Object.entries(formats))(
  'growing calls of %s are recorded as they were sent',
  async (_, { url, list, element }) => {
    const request: ObservedRequest = { method: 'POST', url, header: () => undefined }
    const api = apiOf(request) as Api
    const asked = formsOf({ redact: true }).asked
    await fc.assert(
      fc.asyncProperty(changes(withMore(element)), async (steps) => {
        const store = memoryStore()
        const answer = async (): Promise<Response> => new Response(null, { status: 503 })
        const fetch = recordingFetch({ store, redact: true, fetch: answer })
        const lists: (readonly unknown[])[] = []
        const sent: string[] = []
        for (const step of steps) {
          if (step.kind === 'unreadable' || (step.kind === 'replace' && (lists.at(-1) ?? []).length === 0)) continue
          const next = changed(lists, step)
          lists.push(next)
          // The number tells the receipts apart.
          const body = JSON.stringify({ model: 'm', temperature: lists.length, [list]: next })
          const whole = parseRequestBody(api, body, request)
          if (isLeft(whole)) throw new Error(whole.left)
          sent.push(JSON.stringify(whole.right.messages.map((message) => toSentMessage(asked(message)))))
          await fetch(url, { method: 'POST', body })
        }
        await fetch.close()
        const recorded: string[] = []
        for (const { id } of (await listSessions(store, { limit: 1000 })).sessions) {
          const session = await openSession(store, id)
          for (const note of session.notes()) {
            if (note.type !== 'receipt') continue
            const { temperature } = (detailsOf(note, session) as { parameters: { temperature?: number } }).parameters
            recorded[Number(temperature) - 1] = JSON.stringify(await sentMessages(store, session, note))
          }
        }
        expect(recorded.map(sorted)).toEqual(sent.map(sorted))
      }),
      { numRuns: rounds(12, 200) },
    )
  },
)

/** JSON in one order of fields: a record has its own. */
const sorted = (json: string): unknown => sortKeys(JSON.parse(json) as Json)

it.each([true, false])('settings are recorded as they were sent: content %s', (content) => {
  const setting = fc.constantFrom<Json>(
    'a',
    'b',
    [{ type: 'text', text: 'a' }],
    [{ text: 'a', type: 'text' }],
    { stop: 'a' },
    [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'a' },
    ],
    ...Array.from({ length: 12 }, (_, index) => [{ name: 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz', index }]),
  )
  fc.assert(
    fc.property(fc.array(fc.record({ system: setting, tools: setting, stop: setting }), { minLength: 20 }), (all) => {
      const forms = formsOf({ redact: true, content })
      const reader = new RequestReader(forms)
      for (const settings of all) {
        const body = { messages: [], ...settings }
        const read = readBy(reader, anthropicRequest, body)
        if (isLeft(read)) throw new Error(read.left)
        const { system, tools, parameters } = reader.recorded(read.right)
        expect(JSON.stringify([system, tools, parameters])).toBe(
          JSON.stringify([
            forms.system(settings.system),
            forms.tools(settings.tools),
            forms.beside({ stop: settings.stop }),
          ]),
        )
      }
    }),
    { numRuns: 20 },
  )
})

const anthropicRequest: ObservedRequest = {
  method: 'POST',
  url: 'https://api.anthropic.com/v1/messages',
  header: () => undefined,
}
const chatRequest: ObservedRequest = { ...anthropicRequest, url: 'https://api.openai.com/v1/chat/completions' }
const readBy = (reader: RequestReader, request: ObservedRequest, body: object): ReturnType<RequestReader['parse']> =>
  reader.parse(apiOf(request) as Api, JSON.stringify(body), request)

it.each([20, 8])('a list of %d messages that is cut to any length is read as that list', (len) => {
  const messages = Array.from({ length: len }, (_, index) =>
    index % 2 === 0 ? { role: 'user', content: 'a' } : { role: 'assistant', content: 'ends in space ' },
  )
  for (let cut = 0; cut <= len; cut++) {
    const reader = new RequestReader(formsOf({}))
    readBy(reader, anthropicRequest, { messages })
    const body = { messages: messages.slice(0, cut) }
    expect(readBy(reader, anthropicRequest, body)).toEqual(
      readBy(new RequestReader(formsOf({})), anthropicRequest, body),
    )
  }
})

it.each(['more', 'name'])('a message that differs in its field %s alone is another one', (field) => {
  for (let at = 0; at < 12; at++) {
    const reader = new RequestReader(formsOf({}))
    for (const value of ['a', 'b']) {
      const messages = Array.from({ length: 12 }, (_, index) => ({
        ...{ role: 'user', content: 'a' },
        ...(index === at && { [field]: value }),
      }))
      expect(readBy(reader, chatRequest, { messages })).toEqual(
        readBy(new RequestReader(formsOf({})), chatRequest, { messages }),
      )
    }
  }
})

it('a change of any element counts, however many messages the last elements give', () => {
  const element = (id: string): object => ({
    role: 'user',
    content: ['a', id].flatMap((text) => [
      { type: 'text', text },
      { type: 'tool_result', tool_use_id: id, content: 'b' },
    ]),
  })
  const messages = Array.from({ length: 20 }, (_, index) => element(`c${index}`))
  for (let at = 0; at < messages.length; at++) {
    const reader = new RequestReader(formsOf({}))
    readBy(reader, anthropicRequest, { messages })
    const body = { messages: messages.with(at, element('other')) }
    expect(readBy(reader, anthropicRequest, body)).toEqual(
      readBy(new RequestReader(formsOf({})), anthropicRequest, body),
    )
  }
})

it('fields in another order are other arguments', () => {
  const reader = new RequestReader(formsOf({}))
  const call = (input: object): object => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'c', name: 'look', input }],
  })
  const body = (input: object): object => ({
    messages: [
      { role: 'user', content: 'a' },
      call(input),
      ...Array.from({ length: 20 }, () => ({ role: 'user', content: 'b' })),
    ],
  })
  readBy(reader, anthropicRequest, body({ a: 1, b: 2 }))
  const other = body({ b: 2, a: 1 })
  expect(readBy(reader, anthropicRequest, other)).toEqual(
    readBy(new RequestReader(formsOf({})), anthropicRequest, other),
  )
})

it('a list whose last messages change is read from its beginning once', () => {
  let readings = 0
  const api = apiOf(anthropicRequest) as Api
  const counting: Api = { ...api, reading: () => (readings++, api.reading()) }
  const reader = new RequestReader(formsOf({}))
  for (let len = 20; len < 60; len++) {
    // Some clients mark a text up to six messages before the end.
    const messages = Array.from({ length: len }, (_, index) => ({
      role: 'user',
      content: [{ type: 'text', text: `${index}`, ...(index === len - 6 && { cache_control: { type: 'ephemeral' } }) }],
    }))
    const read = reader.parse(counting, JSON.stringify({ messages }), anthropicRequest)
    expect(isLeft(read) ? 0 : read.right.messages.length).toBe(len)
  }
  expect(readings).toBe(1)
})

it('the same list in another format is read anew', () => {
  const reader = new RequestReader(formsOf({}))
  const body = {
    messages: Array.from({ length: 20 }, () => ({ role: 'user', content: [{ type: 'text', text: 'a', more: 1 }] })),
  }
  readBy(reader, anthropicRequest, body)
  expect(readBy(reader, chatRequest, body)).toEqual(readBy(new RequestReader(formsOf({})), chatRequest, body))
})

it('a message that another session has in another spelling is recorded as it was sent in each', async () => {
  const store = memoryStore()
  let answer = { role: 'assistant', content: '' }
  const provider = async (): Promise<Response> =>
    Response.json({ choices: [{ message: answer, finish_reason: 'stop' }] })
  const fetch = recordingFetch({ store, fetch: provider })
  const spellings = [{ more: 1 }, { more: 2 }, {}]
  const sent: (readonly object[])[] = []
  const send = async (id: string, spelling: object): Promise<void> => {
    answer = { role: 'assistant', content: `yes, ${id}` }
    const turns = Math.floor(sent.length / spellings.length)
    const after = Array.from({ length: turns }, (_, index) => [answer, { role: 'user', content: `b${index}` }])
    const messages = [{ role: 'user', content: 'a', ...spelling }, ...after.flat()]
    sent.push(messages)
    const body = JSON.stringify({ model: 'm', temperature: sent.length, messages })
    await fetch(chatRequest.url, { method: 'POST', headers: { 'session-id': id }, body })
  }
  // Each session begins with another spelling, and then gets each of them.
  for (const [index, spelling] of spellings.entries()) await send(`s${index}`, spelling)
  for (const spelling of spellings) for (const index of spellings.keys()) await send(`s${index}`, spelling)
  await fetch.close()
  const { sessions } = await listSessions(store)
  expect(sessions).toHaveLength(spellings.length)
  for (const { id } of sessions) {
    const session = await openSession(store, id)
    for (const note of session.notes()) {
      if (note.type !== 'receipt') continue
      const { parameters } = detailsOf(note, session) as { parameters: { temperature?: number } }
      const messages = sent[Number(parameters.temperature) - 1]
      const read = parseRequestBody(apiOf(chatRequest) as Api, JSON.stringify({ messages }), chatRequest)
      expect(await sentMessages(store, session, note)).toEqual(isLeft(read) ? undefined : read.right.messages)
    }
  }
})

it('the folder and the name of a client are recorded in their form', () => {
  const header = (name: string): string | undefined => (name === 'session-id' ? secret : undefined)
  const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz'
  const request = { ...chatRequest, folder: `/home/${secret}`, header }
  for (const content of [true, false]) {
    const reader = new RequestReader(formsOf({ redact: true, content }))
    const read = readBy(reader, request, { model: secret, messages: [] })
    if (isLeft(read)) throw new Error(read.left)
    const { folder, client, model } = reader.recorded(read.right)
    expect([folder, client, model].join(' ')).not.toContain('abcdefghijklmnop')
    expect(folder === undefined).toBe(!content)
  }
})

it('settings that are as before are changed once', () => {
  const forms = formsOf({})
  const changed: unknown[] = []
  const reader = new RequestReader({ ...forms, tools: (tools) => (changed.push(tools), forms.tools(tools)) })
  for (const name of ['a', 'a', 'b', 'a', 'b']) {
    const read = readBy(reader, chatRequest, { messages: [], tools: [{ type: 'function', function: { name } }] })
    if (isLeft(read)) throw new Error(read.left)
    expect(reader.recorded(read.right).tools).toEqual([{ type: 'function', function: { name } }])
  }
  expect(changed).toHaveLength(2)
})
