/** What the recorder reads of a request, and how it says what changed since the one before. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, toolCall, toolResult, user, type Message } from 'indelible'
import { hasTooManyValues, isIdentity, mostValues } from '../src/answers/body.ts'
import { cacheBreak, editOf } from '../src/conversations/cache-break.ts'
import type { IndexedMessages } from '../src/conversations/compaction.ts'
import { formsOf } from '../src/requests/content.ts'
import type { SentBefore } from '../src/conversations/conversation.ts'
import { identityOf } from '../src/messages/identity.ts'
import { withoutKeys } from '../src/requests/keys.ts'
import { namedTools } from '../src/messages/named-tools.ts'
import { expandRuns, runsOf, sentOf, toSentMessage } from '../src/conversations/receipt.ts'
import { apiOf, parseRequestBody, shownUrl, type ParsedRequest } from '../src/requests/wire.ts'

const id = (digit: string): never => digit.repeat(64) as never

describe('a URL', () => {
  it.each([
    ['POST', 'http://x/v1/chat/completions', 'openai-chat'],
    ['post', 'https://x/a/b/chat/completions//?a=/responses#b', 'openai-chat'],
    ['POST', '/v1/responses', 'openai-responses'],
    ['POST', 'http://x/v1/messages?beta=true', 'anthropic'],
    ['POST', 'http://x/v1/threads/t/messages', undefined],
    ['POST', 'http://x/v1/threads/t/u/messages', 'anthropic'],
    ['POST', 'http://x/publishers/anthropic/models/m:streamRawPredict', 'anthropic'],
    ['POST', 'http://x/models/m:generateContent', 'gemini'],
    ['POST', 'http://x/models/:generateContent', undefined],
    ['POST', 'http://x/chat/completions/1', undefined],
    ['POST', 'http://x?/chat/completions', undefined],
    ['GET', 'http://x/v1/chat/completions', undefined],
  ])('%s %s calls %s', (method, url, name) => expect(apiOf({ method, url })?.name).toBe(name))

  it('is shown without a query, a fragment and a password', () => {
    expect(['https://u:p@x/a?key=k', 'http://x/a@b#c', 'http+unix://u@p@x/', '/a?b', '//u@x'].map(shownUrl)).toEqual([
      'https://x/a',
      'http://x/a@b',
      'http+unix://x/',
      '/a',
      '//u@x',
    ])
  })
})

describe('a request', () => {
  const read = (
    body: object,
    headers: { readonly [name: string]: string } = {},
    url = 'http://x/chat/completions',
  ): ParsedRequest => {
    const request = { method: 'POST', url, header: (name: string) => headers[name] }
    const parsed = parseRequestBody(apiOf(request) as never, JSON.stringify({ messages: [], ...body }), request)
    if (isLeft(parsed)) throw new Error(parsed.left)
    return parsed.right
  }
  const uuid = '01234567-89ab-cdef-0123-456789abcdef'

  it.each<readonly [object, { readonly [name: string]: string }, string | undefined]>([
    [{}, {}, undefined],
    [{ prompt_cache_key: 'a' }, { 'thread-id': 't', 'session-id': 's' }, 't'],
    [{ prompt_cache_key: 'a' }, { 'thread-id': '', 'x-session-id': 'x' }, 'x'],
    [{ prompt_cache_key: 'a', conversation: 'c' }, {}, 'c'],
    [{ prompt_cache_key: 'a', conversation: { id: 'c' } }, {}, 'c'],
    [{ prompt_cache_key: 'a', conversation: { id: 5 } }, {}, 'a'],
    [{ prompt_cache_key: '' }, {}, undefined],
    [{ prompt_cache_key: 5 }, {}, undefined],
    [{ metadata: { user_id: JSON.stringify({ session_id: 's' }) }, prompt_cache_key: 'a' }, {}, 's'],
    [{ metadata: { user_id: JSON.stringify({ session_id: 5 }) }, prompt_cache_key: 'a' }, {}, 'a'],
    [{ metadata: { user_id: '"text"' }, prompt_cache_key: 'a' }, {}, 'a'],
    [{ metadata: { user_id: `user_1_session_${uuid}` }, prompt_cache_key: 'a' }, {}, uuid],
    [{ metadata: { user_id: `user_1_session_${uuid}x` }, prompt_cache_key: 'a' }, {}, 'a'],
    [{ metadata: 'm', prompt_cache_key: '\ud800' }, {}, '\ufffd'],
  ])('%j with %j is of the conversation %s', (body, headers, client) => expect(read(body, headers).client).toBe(client))

  it('has the same caller for the same credentials only', () => {
    const callers = [
      {},
      { authorization: 'a' },
      { 'x-api-key': 'a' },
      { authorization: 'a', cookie: 'b' },
      { 'x-other': 'a' },
    ]
    const found = callers.map((headers) => read({}, headers).caller)
    expect(found[4]).toBe(found[0])
    expect(new Set(found).size).toBe(4)
    expect(JSON.stringify(found)).not.toContain('"a"')
  })

  it('has its settings, without keys and cache marks', () => {
    const tools = [{ name: 'a', authorization: 'k' }]
    const messages = [{ role: 'user', content: 'hi' }]
    const body = {
      model: 5,
      messages,
      tools,
      temperature: 0,
      api_key: 'k',
      previous_response_id: 7,
      stream: true,
      stream_options: {},
    }
    expect(read(body)).toMatchObject({
      api: 'openai-chat',
      model: 'unknown',
      messages: [user('hi')],
      system: undefined,
    })
    expect(read(body).tools).toEqual([{ name: 'a', authorization: '[a key, not recorded]' }])
    expect(read(body).parameters).toEqual({ temperature: 0, api_key: '[a key, not recorded]', previous_response_id: 7 })
    const responses = {
      model: 'm',
      input: 'hi',
      instructions: 'brief',
      previous_response_id: 'r',
      conversation: { id: 'c' },
    }
    expect(read(responses, {}, '/responses')).toMatchObject({ previous: 'r', conversation: 'c', system: 'brief' })
    expect(read({ ...responses, previous_response_id: 7, conversation: 7 }, {}, '/responses')).toMatchObject({
      previous: undefined,
      conversation: undefined,
    })
  })

  it.each([
    ['[]', 'the request is not a JSON object'],
    ['{"messages":\n [}', 'the request is not JSON at line 2, column 3'],
    ['{"messages":[{"role":"robot"}]}', "its messages can't be read: {"],
  ])('%s is refused', (body, reason) => {
    const request = { method: 'POST', url: '/chat/completions', header: () => undefined }
    const parsed = parseRequestBody(apiOf(request) as never, body, request)
    expect(isLeft(parsed) && parsed.left).toContain(reason)
  })

  const gone = '[a key, not recorded]'
  it('has no values of fields named like a key', () => {
    const hidden = ['api_key', 'apikey', 'APIKey', 'api%5Fkey', 'authorization', 'X-Authorization', 'authorization_token', 'accessToken', 'client-secret', 'password', 'cookie', 'aws_secret_access_key', 'secret_key', 'private_key', 'vertex_credentials', 'auth', 'secrets', 'passwords', 'api_keys', 'Ocp-Apim-Subscription-Key', 'OPENAI_KEY', 'x-functions-key', 'ssh_key', 'auth_header', 'github_pat', 'oauth', 'hmac', 'X-Hub-Signature-256', 'x-goog-signature', 'otp', 'mfa_code', 'api_key_2', 'accessTokenValue', 'client-key-data', 'secret_key_base', 'PHPSESSID', 'Passwort', 'ａｐｉ_key'] // oxfmt-ignore
    const shown = ['max_tokens', 'key', 'tokens', 'token_count', 'authorization_url', 'prompt_cache_key', 'public_key', 'eos_token', 'session_id', 'max_completion_tokens', 'top_k', 'passes', 'signature_algorithm'] // oxfmt-ignore
    for (const value of ['v', ['v'], { value: 'v' }, [{ a: { v: 1 } }], 5]) {
      const fields = Object.fromEntries([...hidden, ...shown].map((name) => [name, value]))
      const clean = withoutKeys({ deep: [fields] }).deep[0] as typeof fields
      expect(Object.keys(clean).filter((name) => clean[name] === gone)).toEqual(hidden)
      for (const name of shown) expect(clean[name]).toEqual(value)
    }
    expect(
      withoutKeys({
        ...{ headers: { a: ['b', { c: 'd' }] }, extra_headers: { e: 'f' }, auth: true, token: null },
        environments: [{ name: 'API_KEY', value: 'x' }],
        text: '{"a": {"api_key": "x"}}',
        form: 'a=1&api_key=x',
        bearer: ' Bearer x',
        said: 'Bearer tokens are used here.',
        command: 'curl -H "Authorization: Bearer sk-1234567890ab" x',
        dsn: 'host=h password=secret user=u',
        connection: 'Server=h;User Id=u;Password=secret;',
        args: ['--api-key', 'x', '--verbose', 'y', '--token', '--more'],
        pairs: [['Authorization', 'x'], ['accept', 'y']], // oxfmt-ignore
        required: ['password', 'user'],
        described: 'sort=descending, token=none, a basic 2-step authentication',
        ...{ list: [{ name: 'Authorization', content: 'x' }, { k: 'password', v: 'x' }, { id: 'note', text: 'y' }] }, // oxfmt-ignore
        ...{ env: { OPENAI: 'x', nested: { A: 'y' } }, header: { 'X-Any': 'z' } },
        encoded: btoa('{"api_key":"0123456789"}'),
        picture: btoa('{"type":"picture of a cat"}'),
        scheme: 'token 0123456789abcdef',
        account: 'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abc+/def==;EndpointSuffix=h',
      }),
    ).toEqual({
      ...{ headers: { a: [gone, { c: gone }] }, extra_headers: { e: gone }, auth: true, token: null },
      environments: [{ name: 'API_KEY', value: gone }],
      text: `{"a":{"api_key":"${gone}"}}`,
      form: `a=1&api_key=${gone}`,
      bearer: gone,
      said: 'Bearer tokens are used here.',
      command: `curl -H "Authorization: Bearer ${gone}" x`,
      dsn: `host=h password=${gone} user=u`,
      connection: `Server=h;User Id=u;Password=${gone};`,
      args: ['--api-key', gone, '--verbose', 'y', '--token', '--more'],
      pairs: [['Authorization', gone], ['accept', 'y']], // oxfmt-ignore
      required: ['password', 'user'],
      described: 'sort=descending, token=none, a basic 2-step authentication',
      ...{ list: [{ name: 'Authorization', content: gone }, { k: 'password', v: gone }, { id: 'note', text: 'y' }] }, // oxfmt-ignore
      ...{ env: { OPENAI: gone, nested: { A: gone } }, header: { 'X-Any': gone } },
      encoded: gone,
      picture: btoa('{"type":"picture of a cat"}'),
      scheme: gone,
      account: `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${gone};EndpointSuffix=h`,
    })
  })

  it('keeps the schemas of fields named like a key, without their examples', () => {
    const schema = (password: Readonly<Record<string, string | readonly string[]>>) => ({
      type: 'object',
      properties: { password, user: { type: 'string' } },
      required: ['password'],
    })
    expect(withoutKeys(schema({ type: 'string', default: 'x', examples: ['y'] }))).toEqual(
      schema({ type: 'string', default: gone, examples: gone }),
    )
    expect(withoutKeys(schema({ value: 'x' })).properties.password).toBe(gone)
  })

  it.each([
    ['https://user:x@h/', `https://${gone}@h/`],
    ['https://user:pass@x@h/a', `https://${gone}@h/a`],
    ['postgres://user:p/x?y@h/a', `postgres://${gone}@h/a`],
    [' https://user:x@h/', ` https://${gone}@h/`],
    ['wss://user:x@h/', `wss://${gone}@h/`],
    ['see https://x@h/ and //u:x@h', `see https://${gone}@h/ and //${gone}@h`],
    ['https://h/#access_token=x', `https://h/#access_token=${gone}`],
    ['https://h/#/a?token=x', `https://h/#/a?token=${gone}`],
    ['https://h/?a=b&api%5Fkey=x&c=d', `https://h/?a=b&api%5Fkey=${gone}&c=d`],
    ['https://h/?api%255Fkey=x', `https://h/?api%255Fkey=${gone}`],
    ['https://h/?access_key=x;sig=y', `https://h/?access_key=${gone};sig=${gone}`],
    ['https://h/a;jsessionid=x?b=c', `https://h/a;jsessionid=${gone}`],
    ['https://h/?access_key=x;y&b=c', `https://h/?access_key=${gone}&b=c`],
    ['https://h/?to=https%3A%2F%2Fu%3Ax%40i%2F', `https://h/?to=${encodeURIComponent(`https://${gone}@i/`)}`],
    ['https://h:8080/@scope/a?b=c&page=2#d', 'https://h:8080/@scope/a?b=c&page=2#d'],
    ['https://[::1]:80/a@b', 'https://[::1]:80/a@b'],
  ])('has no keys in a URL such as %s', (url, clean) => {
    expect(withoutKeys({ tools: [{ server_url: url }] })).toEqual({ tools: [{ server_url: clean }] })
  })

  it('has tools with names in every format', () => {
    const tools = [
      { type: 'function', function: { name: 'chat' } },
      { name: 'messages', type: 'custom' },
      { type: 'web_search' },
      { functionDeclarations: [{ name: 'gemini' }, {}] },
      { function_declarations: [{ name: 'snake' }] },
      { googleSearch: {} },
      {},
      'text',
    ]
    expect(namedTools(tools).map(({ name }) => name)).toEqual(
      ['chat', 'messages', 'web_search', 'gemini', 'function 1', 'snake', 'googleSearch', 'tool 6', 'tool 7'], // oxfmt-ignore
    )
    expect(namedTools(tools)[3]?.definition).toEqual({ name: 'gemini' })
    expect(namedTools(tools)[0]?.definition).toBe(tools[0])
    expect([namedTools(undefined), namedTools({ name: 'a' })]).toEqual([[], []])
  })
})

describe('a change since the call before', () => {
  const sent = (more: Partial<SentBefore> = {}): SentBefore => ({
    model: 'm',
    tools: undefined,
    system: '"rules"',
    messages: ['1', '2'],
    entries: [],
    ...more,
  })
  const because = (before: Partial<SentBefore>, now: Partial<SentBefore>, compacted = false, taken = 0): unknown =>
    cacheBreak(sent(before), sent(now), { compacted, edit: undefined, taken })

  it.each<readonly [string | undefined, string | undefined, string]>([
    [undefined, '"a"', '`system` was added'],
    ['"a"', undefined, '`system` was removed'],
    ['"a\\nb"', '"a\\nc"', '`system` changed in line 2'],
    ['"a"', '"a\\nb\\nc"', '`system` changed: it has 2 more lines'],
    ['"a\\nb"', '"a"', '`system` changed in line 2'],
    ['"a"', '[{"text":"a"},{"text":"b"}]', '`system` changed: it has 1 more line'],
    [
      '[{"text":"a","cache_control":{"type":"ephemeral"}}]',
      '"a"',
      '`system` lost its `cache_control`, so the provider no longer caches it',
    ],
    ['"a"', '[{"text":"a"}]', '`system` is written differently'],
    ['[{"text":"a"},{"text":"b"}]', '[{"text":"a"},{"text":"c"},5]', '`system` changed in line 2'],
    ['{"parts":[{"text":"a"}]}', '{"parts":[{"text":"b"}]}', '`system` changed at character 1'],
    ['{"a":1}', '{"a":2}', '`system` changed at character 6'],
    ['"a"', 'no JSON', '`system` changed at character 1'],
    ['"You are brief."', '"You are brief. And kind."', '`system` changed at character 15'],
  ])('of the system text from %s to %s is described', (before, now, words) =>
    expect(because({ system: before }, { system: now })).toEqual({ where: 'system', because: words }),
  )

  it('of the tools is described before that of the system text', () => {
    const named = (...names: readonly string[]): string => JSON.stringify(names.map((name) => ({ name })))
    const words = (before: string | undefined, now: string | undefined): unknown =>
      (because({ tools: before, system: 'a' }, { tools: now, system: 'b' }) as { because: string }).because
    const many = Array.from({ length: 11 }, (_, index) => `t${index}`)
    expect(words(undefined, named('a'))).toBe('the tool list changed: +a')
    expect(words(named('a', 'b'), named('c', 'b'))).toBe('the tool list changed: +c -a')
    expect(words(named(), named(...many))).toBe(`the tool list changed: ${many.slice(0, 10).map((one) => `+${one}`).join(' ')} …`) // oxfmt-ignore
    expect(words(named(), named(...many.slice(1)))).not.toContain('…')
    expect(words(named('a'), ` ${named('a')}`)).toBe('the tools are written differently')
    expect(words('no JSON', '5')).toBe('the tools are written differently')
    for (const [before, now] of [
      ['[null]', '["x"]'],
      ['["x"]', '[null]'],
      ['[1]', '[2]'],
    ] as const)
      // oxfmt-ignore
      expect(words(before, now)).toBe('tool 0 changed')
    const inner = (description: string, extra?: string) =>
      JSON.stringify([{ function: { name: 'f', description, extra } }])
    expect(words(inner('a'), inner('b'))).toBe('the description of f changed')
    expect(words(inner('a'), inner('b', 'c'))).toBe('f changed')
    const both = (one: string, two: string) =>
      JSON.stringify([{ name: 'a', x: one }, { name: 'b' }, { name: 'c', x: two }])
    expect(words(both('1', '1'), both('2', '2'))).toBe('a and 1 more changed')
    expect(words(both('1', '1'), both('1', '2'))).toBe('c changed')
    expect(words(named('a'.repeat(65)), named('a'.repeat(64)))).toBe(`the tool list changed: +${'a'.repeat(64)} -${'a'.repeat(63)}…`) // oxfmt-ignore
  })

  it('of the messages is described', () => {
    expect(because({}, {})).toBeUndefined()
    expect(because({}, { messages: ['1', '2', '3'] })).toBeUndefined()
    expect(because({}, { messages: ['1', '3'] })).toEqual({
      where: 'messages',
      index: 1,
      because: 'message 1 was replaced',
    })
    expect(because({}, { messages: ['1', '3'] }, false, 2)).toMatchObject({
      because: 'message 1 is written differently',
    })
    expect(because({}, { messages: ['1'] })).toMatchObject({ because: 'the conversation was cut back to 1 messages' })
    expect(because({}, { messages: ['3'] }, true)).toMatchObject({
      index: 0,
      because: 'the client compacted the conversation',
    })
    const edit = { index: 1, because: 'edited' }
    const unchanged = { compacted: false, edit: undefined, taken: 0 }
    const original = sent({ messages: ['1', '9'] })
    const edited = { where: 'messages', index: 1, because: 'edited' }
    // Another recorder recorded the call before: only its tools and its system text are known.
    const known = { ...sent({ messages: [] }), system: '"be brief"' }
    const compacted = { compacted: true, edit: undefined, taken: 0 }
    const change = { change: 'compaction', because: 'the client compacted the conversation' }
    expect(cacheBreak(undefined, sent({ system: known.system }), compacted, known)).toEqual({
      where: 'messages',
      ...change,
    })
    expect(cacheBreak(undefined, sent({ system: '"be long"' }), compacted, known)).toMatchObject({
      where: 'system',
      change: 'compaction',
      because: expect.stringMatching(/^the client compacted the conversation, and `system` changed/),
    })
    expect(cacheBreak(undefined, sent(), { ...unchanged, edit }, original)).toEqual(edited)
    expect(cacheBreak(undefined, sent(), { ...unchanged, edit })).toEqual(edited)
    expect(cacheBreak(sent(), sent(), { ...unchanged, edit })).toEqual(edited)
    expect(cacheBreak(sent({ messages: ['9'] }), sent(), { ...unchanged, edit })).toMatchObject({ index: 0 })
    for (const one of [edit, undefined])
      expect(cacheBreak(undefined, sent({ system: '"x"' }), { ...unchanged, edit: one }, original)).toMatchObject({
        where: 'system',
      })
    expect(cacheBreak(undefined, sent(), unchanged, original)).toBeUndefined()
    expect(cacheBreak(undefined, sent(), unchanged)).toBeUndefined()
  })

  it('of an earlier message is an edit if later answers or results are sent again', () => {
    const talk = [
      user('go'),
      assistant(toolCall('a', 'look', '{}'), toolCall('b', 'hear', '{}')),
      toolResult('a', 'saw'),
      toolResult('b', 'heard'),
      assistant('done'),
    ]
    const said: IndexedMessages = {
      len: talk.length,
      at: (index) => talk[index],
      identityAt: (index) => identityOf(talk[index] as Message),
    }
    const edit = (len: number, ...rest: readonly Message[]) =>
      editOf(said, [...talk.slice(0, len), ...rest], len)?.because
    expect(edit(2, toolResult('a', 'cut'), ...talk.slice(3))).toBe('message 2: the result of look was edited')
    expect(edit(2, ...talk.slice(3))).toBe('message 2: the result of look was removed')
    expect(edit(2, user('wait'), ...talk.slice(2))).toBe('message 2: a message was inserted before the result of look')
    expect(edit(1, assistant('no'), ...talk.slice(2))).toBe('message 1: an answer was edited')
    expect(edit(0, user('stay'), ...talk.slice(1))).toBe('message 0: a user message was edited')
    expect(edit(2, user('other'))).toBeUndefined()
    expect(edit(5, user('more'))).toBeUndefined()
    expect(edit(4, user('other'), user('go'))).toBeUndefined()
  })
})

describe('the messages of a call', () => {
  it('are runs of positions, and blocks', () => {
    const entries = [0, 1, 2, id('a'), 5, id('b'), 3, 4]
    const runs = [[0, 3], id('a'), [5, 6], id('b'), [3, 5]]
    expect([runsOf(entries), expandRuns(runs as never)]).toEqual([runs, entries])
    expect([runsOf([]), expandRuns([{ note: 1, count: 2 }, [1, 3]])]).toEqual([[], [1, 2]])
  })
  it('refer to the call before if that is shorter', () => {
    const before = { note: 7, entries: [0, 2, 4, 6, 8, 10] }
    const plain = [
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
    ]
    expect(sentOf([0, 2, 4, 6], before)).toEqual(plain)
    expect(sentOf([0, 2, 4, 6, 8], before)).toEqual([{ note: 7, count: 5 }])
    expect(sentOf([0, 2, 4, 6, 9, 11], before)).toEqual([{ note: 7, count: 4 }, [9, 10], [11, 12]])
    expect(sentOf([1, 3, 5, 7, 9], before)).toHaveLength(5)
    const alike = [0, 3, 5, 7, 9]
    expect(sentOf(alike, before)).toEqual(runsOf(alike)) // the other form is no shorter
    expect(sentOf([0, 2, 5, 7, 9], before)).toEqual([{ note: 7, count: 2 }, [5, 6], [7, 8], [9, 10]])
    expect(sentOf([9, 2, 4, 6, 8], before)).toHaveLength(5)
    expect(sentOf([0, 2, 4, 6, 8], undefined)).toHaveLength(5)
  })

  it('property: they mean the same in both forms, and the shorter one is written', () => {
    const some = fc.array(fc.nat(4), { maxLength: 8 })
    fc.assert(
      fc.property(some, some, fc.nat(8), (earlier, later, shared) => {
        const entries = [...earlier.slice(0, shared), ...later]
        const plain = runsOf(entries)
        const sent = sentOf(entries, { note: 7, entries: earlier })
        const [head, ...rest] = sent
        const isShort = typeof head === 'object' && 'note' in head
        expect(isShort ? [...earlier.slice(0, head.count), ...expandRuns(rest)] : expandRuns(sent)).toEqual(entries)
        if (isShort) expect([head.note, sent.length < plain.length]).toEqual([7, true])
        else expect(sent).toEqual(plain)
      }),
    )
  })
  it('have no ids, and no data of their answers', () => {
    const meta = { 'anthropic-response': { a: 1 }, 'gemini-response': { a: 1 }, indelible: { digest: 'd' } }
    expect(toSentMessage({ ...user('a'), id: 'm', meta })).toEqual(user('a'))
    expect(toSentMessage({ ...user('a'), name: 'n', meta: { ...meta, app: { b: 1 } } })).toEqual({
      ...user('a'),
      name: 'n',
      meta: { app: { b: 1 } },
    })
  })
})

describe('the recorded form of a message', () => {
  const call = toolCall('c', 'look', '{"a":1}')
  const said: Message = { role: 'assistant', content: [...assistant('a secret', call).content, ...toolResult('d', 'a secret').content], meta: { app: 1 } } // oxfmt-ignore
  const secrets = { rules: [{ name: 'own', pattern: /secret/ }], secrets: false }

  it('is the message itself if nothing is removed', () => {
    for (const forms of [
      formsOf({}),
      formsOf({ redact: (message) => message }),
      formsOf({ redact: { secrets: false } }),
    ]) {
      expect([forms.asked(said), forms.answered(said)].every((form) => form === said)).toBe(true)
      forms.count(said)
      expect(forms.beside('a secret')).toBe('a secret')
    }
  })
  it('has lengths in place of texts, with the digest of the original', () => {
    const { asked, answered } = formsOf({ content: false })
    const form = asked(said)
    expect(form).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: '[text: 33 bytes]' },
        { type: 'tool_call', id: 'c', name: 'look', arguments: '' },
        { type: 'tool_result', callId: 'd', content: [{ type: 'text', text: '[text: 33 bytes]' }] },
      ],
      meta: { indelible: { digest: identityOf(said) } },
    })
    expect([answered(said), identityOf(form)]).toEqual([form, identityOf(said)])
    expect(formsOf({ content: false }).system('é€')).toBe('[text: 7 bytes]') // with its quotes
    expect(asked(assistant(call)).content).toEqual([{ ...call, arguments: '' }])
  })
  it('has no secrets, and those of questions count when they are recorded', () => {
    const found: unknown[] = []
    const { asked, answered, count, beside } = formsOf({
      redact: { ...secrets, onRedacted: (redacted) => found.push(redacted.rule) },
    })
    const form = asked(said)
    expect([form.meta?.['indelible'], found]).toEqual([{ redacted: { own: 2 }, digest: identityOf(said) }, []])
    expect(beside(['secret'])).toEqual(['[redacted own, 6 characters]'])
    expect(found).toEqual([])
    count(said)
    expect(found).toEqual(['own', 'own'])
    expect(answered(said)).toEqual(form)
    expect(found).toHaveLength(4)
  })
  it('is that of a function, which sees messages only', () => {
    const { asked, answered, count, beside } = formsOf({ redact: (message) => ({ ...message, content: [] }) })
    for (const form of [asked(said), answered(said)])
      expect(form).toEqual({
        role: 'assistant',
        content: [],
        meta: { app: 1, indelible: { digest: identityOf(said) } },
      })
    count(said)
    expect(beside('secret')).toBe('secret')
    const sameContent = formsOf({ redact: (message) => ({ ...message, name: 'n' }) }).asked(said)
    expect(sameContent).toEqual({ ...said, name: 'n' })
  })
})

it('a body may have so many values', () => {
  const list = (count: number): string => `[${Array.from({ length: count - 1 }, () => '1').join(',')}]`
  expect([mostValues, mostValues + 1, mostValues + 2].map((count) => hasTooManyValues(list(count)))).toEqual([
    false,
    false,
    true,
  ])
  expect(['', 'identity', 'IDENTITY', undefined, 'gzip'].map(isIdentity)).toEqual([true, true, true, true, false])
})
