/**
 * What real agents send, in small: seen between them and the scripted provider of `npm run clients`, written here anew.
 */
import { describe, expect, it } from 'vitest'
import { listSessions, memoryStore, openSession, textOf, type Message, type Session, type Store } from 'indelible'
import { detailsOf, recordingFetch, sentMessages } from '@indelible/recorder'
import { ok } from '../../../test/task-results.ts'

type Wire = { readonly [field: string]: unknown }

/** A client whose provider says what it is told to say. */
class Client {
  readonly store: Store
  readonly #path: string
  readonly #notices: string[] = []
  #fetch: ReturnType<typeof recordingFetch>
  #next: Wire = {}
  #ids = 0

  readonly #options: Partial<Parameters<typeof recordingFetch>[0]>

  constructor(
    path: '/responses' | '/messages' | '/chat/completions',
    options: Partial<Parameters<typeof recordingFetch>[0]> = {},
  ) {
    this.store = memoryStore()
    this.#path = path
    this.#options = options
    this.#fetch = this.#started()
  }

  #started(): ReturnType<typeof recordingFetch> {
    return recordingFetch({
      ...this.#options,
      store: this.store,
      fetch: async () => Response.json(this.#next),
      onNotice: ({ reason }) => this.#notices.push(reason),
    })
  }

  /** Every call is recorded. */
  settled(): Promise<void> {
    return this.#fetch.settled()
  }

  /** The recorder ends, and another one begins. */
  async restart(): Promise<void> {
    await this.settled()
    this.#fetch = this.#started()
  }

  /** Send a request, and be answered. */
  async call(
    body: Wire,
    answer: string | readonly Wire[],
    names: string | { readonly [header: string]: string } = 'mine',
  ): Promise<void> {
    const id = `a${++this.#ids}`
    this.#next =
      this.#path === '/responses'
        ? { id, status: 'completed', output: typeof answer === 'string' ? [output(answer)] : answer }
        : this.#path === '/messages'
          ? { id, type: 'message', role: 'assistant', stop_reason: 'end_turn', content: text(String(answer)) }
          : { id, choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: answer } }] }
    const headers = typeof names === 'string' ? { 'session-id': names } : names
    await (await this.#fetch(`http://x${this.#path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text()
  }

  /** The sessions, the first one first. Each receipt gives what was sent. */
  async sessions(sent: readonly number[]): Promise<readonly Session[]> {
    await this.#fetch.settled()
    expect(this.#notices).toEqual([])
    const { sessions } = await listSessions(this.store)
    const opened = await Promise.all(sessions.toReversed().map(({ id }) => ok(openSession(this.store, id))))
    const counts: (readonly [at: number, count: number])[] = []
    for (const session of opened)
      for (const note of session.notes())
        if (note.type === 'receipt')
          counts.push([detailsOf(note, session)?.at ?? 0, (await sentMessages(this.store, session, note)).length])
    expect(counts.map(([, count]) => count).toSorted()).toEqual(sent.toSorted())
    return opened
  }
}

const text = (value: string): readonly Wire[] => [{ type: 'text', text: value }]
const output = (value: string): Wire => ({
  type: 'message',
  id: `msg_${value}`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: value, annotations: [] }],
})
const input = (value: string, role = 'user'): Wire => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text: value }],
})
const said = (session: Session | undefined): readonly string[] =>
  [...(session?.conversation() ?? [])].map((message) => {
    const { type } = message.content[0] ?? {}
    return textOf(message as Message) || `(${type})`
  })
const retracted = (session: Session | undefined): number =>
  (session?.view().length ?? 0) - (session?.conversation().length ?? 0)

const compactions = (session: Session | undefined): number =>
  [...(session?.notes() ?? [])].filter((note) => note.type === 'application' && 'sent' in (note.content as object))
    .length
const summaries = (session: Session | undefined): readonly string[] =>
  [...(session?.notes() ?? [])].flatMap((note) => (note.type === 'summary' ? [note.text] : []))
const brokeAt = (session: Session | undefined): readonly (string | undefined)[] =>
  session === undefined
    ? []
    : [...session.notes()].flatMap((note) =>
        note.type === 'receipt' ? [detailsOf(note, session)?.broke?.because] : [],
      )

const user = (content: string): Wire => ({ role: 'user', content })
const assistant = (content: string): Wire => ({ role: 'assistant', content })

/** A recording fetch whose provider holds back each answer to more than two messages, until `waiting` is called. */
const answeringLater = (store: Store, contentOf: (messages: readonly Wire[]) => string) => {
  const waiting: (() => void)[] = []
  const fetch = recordingFetch({
    store,
    fetch: async (_, init) => {
      const { messages } = JSON.parse(String(init?.body)) as { readonly messages: readonly Wire[] }
      if (messages.length > 2) await new Promise<void>((resolve) => void waiting.push(resolve))
      const message = { role: 'assistant', content: contentOf(messages) }
      return Response.json({ choices: [{ index: 0, finish_reason: 'stop', message }] })
    },
  })
  return { fetch, waiting }
}

describe('recording Claude Code', () => {
  const tools = [{ name: 'Read', input_schema: {} }]
  const summary = 'They spoke of one\n\nand of two, at length.'
  const prompt = user('CRITICAL: respond with text only. Write a summary.')
  const continued = user(`This session goes on.\nSummary:\n${summary.replace('\n\n', '\n')}\nThe rest is verbatim.`)

  it.each([false, true])(
    'continues the session after a compaction, with a note of the summary (restarts: %j)',
    async (restarts) => {
      const client = new Client('/messages')
      const call = async (messages: readonly Wire[], answer: string): Promise<void> => {
        await client.call({ tools, messages }, answer)
        if (restarts) await client.restart()
      }
      const before = [user('one'), assistant('first'), user('two'), assistant('second')]
      await call(before.slice(0, 1), 'first')
      await call(before.slice(0, 3), 'second')
      await call([...before, prompt], `<analysis>\nWhat they said.\n</analysis>\n<summary>\n${summary}\n</summary>`)
      const after = [continued, assistant('second'), user('three'), assistant('third'), user('four')]
      await call(after.slice(0, 3), 'third')
      await call(after, 'fourth')
      const [session, ...others] = await client.sessions([1, 3, 5, 3, 5])
      expect(others).toEqual([])
      expect(said(session)).toEqual(['one', 'first', 'two', 'second', 'three', 'third', 'four', 'fourth'])
      expect([compactions(session), summaries(session), retracted(session)]).toEqual([1, [summary], 2])
      expect(brokeAt(session).slice(3)).toEqual(['the client compacted the conversation', undefined])
    },
  )

  it('handles a second compaction and a return to before one', async () => {
    const client = new Client('/messages')
    const call = (messages: readonly Wire[], answer: string): Promise<void> => client.call({ tools, messages }, answer)
    await call([user('one')], 'first')
    await call([user('one'), assistant('first'), prompt], summary)
    await call([continued, user('two')], 'second')
    await call([continued, user('two'), assistant('second'), prompt], 'They spoke of one, of two, and of more.')
    const again = user('Summary: They spoke of one, of two, and of more.')
    await call([again, user('three')], 'third')
    await call([again, user('another three')], 'other third') // it has gone back
    await call([again, user('another three'), assistant('other third'), user('four')], 'fourth')
    const [session, ...others] = await client.sessions([1, 3, 2, 4, 2, 2, 4])
    expect(others).toEqual([])
    expect(said(session)).toEqual(['one', 'first', 'two', 'second', 'another three', 'other third', 'four', 'fourth'])
    expect(summaries(session)).toEqual([summary, 'They spoke of one, of two, and of more.'])
  })

  it("titles the session by the user's words, not the program's", async () => {
    const client = new Client('/messages')
    const content = [...text('<system-reminder>\nBe kind.\n</system-reminder>\n'), ...text('Fix it.\nPlease.')]
    await client.call({ tools, messages: [{ role: 'user', content }] }, 'Done.')
    const [session] = await client.sessions([1])
    expect(session?.metadata()['title']).toBe('Fix it.')
  })

  it('takes no quoted answer in another agent or branch for a compaction', async () => {
    const client = new Client('/messages')
    const long = 'This is a long answer, which others quote.'
    await client.call({ tools, messages: [user('one')] }, 'first')
    await client.call({ tools, messages: [user('one'), assistant('first'), user('two')] }, long)
    await client.call({ tools: [], messages: [user(`Judge this: ${long}`)] }, 'good')
    await client.call({ tools, messages: [user('one'), assistant('first'), user(`Why: ${long}`)] }, 'so')
    const sessions = await client.sessions([1, 3, 1, 3])
    expect(sessions.map(said)).toEqual([
      ['one', 'first', `Why: ${long}`, 'so'],
      [`Judge this: ${long}`, 'good'],
    ])
    expect(sessions.map(compactions)).toEqual([0, 0])
  })
})

describe('recording opencode', () => {
  it('handles a summary made in a separate conversation', async () => {
    const client = new Client('/chat/completions')
    const tools = [{ type: 'function', function: { name: 'read', parameters: {} } }]
    const system = { role: 'system', content: 'You are an agent.' }
    const before = [system, user('the first question'), assistant('first'), user('the second question')]
    await client.call({ tools, messages: before.slice(0, 2) }, 'first')
    await client.call({ tools, messages: before }, 'second')
    const summary = 'A first and a second question were answered.'
    const wire = user('So far:\n[User]: the first question\n[User]: the second question\nWrite a summary.')
    await client.call({ messages: [{ role: 'system', content: 'You write summaries.' }, wire] }, summary)
    const after = [system, user('What did we do so far?'), assistant(summary), user('go on')]
    await client.call({ tools, messages: after }, 'third')
    await client.restart()
    await client.call({ tools, messages: [...after, assistant('third'), user('more')] }, 'fourth')
    const [session, side, ...others] = await client.sessions([2, 4, 2, 4, 6])
    expect(others).toEqual([])
    expect(said(session)).toEqual([
      'You are an agent.',
      'the first question',
      'first',
      'the second question',
      'second',
      'go on',
      'third',
      'more',
      'fourth',
    ])
    expect([compactions(session), summaries(session), retracted(session)]).toEqual([1, [summary], 0])
    expect(said(side).at(-1)).toBe(summary)
  })
})

describe('conversations under one name', () => {
  const system = { role: 'system', content: 'You are an agent.' }
  const ask = (word: string): readonly Wire[] => [system, user(word)]

  it('that start alike become separate sessions', async () => {
    const client = new Client('/chat/completions')
    await client.call({ messages: ask('one') }, 'first')
    await client.call({ messages: ask('two') }, 'second')
    await client.call({ messages: [...ask('one'), assistant('first'), user('more')] }, 'third')
    await client.call({ messages: [...ask('two'), assistant('second'), user('more')] }, 'fourth')
    await client.call({ messages: ask('one') }, 'another first') // the same, asked again
    const sessions = await client.sessions([2, 2, 4, 4, 2])
    expect(sessions.map(said)).toEqual([
      ['You are an agent.', 'one', 'another first'],
      ['You are an agent.', 'two', 'second', 'more', 'fourth'],
    ])
  })

  it('of which one was compacted stay separate sessions', async () => {
    const client = new Client('/chat/completions')
    const [before, summary] = [
      [...ask('one'), assistant('first'), user('two')],
      'They spoke of one and of two, at length.',
    ]
    await client.call({ messages: before }, 'second')
    await client.call({ messages: [...before, assistant('second'), user('Write a summary.')] }, summary)
    const after = [system, user('What did we do so far?'), assistant(summary)]
    await client.call({ messages: [...after, user('three')] }, 'third')
    for (const name of ['mine', 'a helper of mine']) await client.call({ messages: ask('helper') }, 'here', name)
    const sessions = await client.sessions([4, 6, 4, 2, 2])
    expect(sessions.map((session) => said(session).slice(1))).toEqual([
      ['one', 'first', 'two', 'second', 'three', 'third'],
      ['helper', 'here'],
      ['helper', 'here'],
    ])
  })

  it('that share answers and continue in parallel cause one retraction, then a fork', async () => {
    const client = new Client('/chat/completions')
    const shared = [...ask('one'), assistant('first')]
    const [a, b] = [
      [...shared, user('go left'), assistant('left')],
      [...shared, user('go right'), assistant('right')],
    ]
    await client.call({ messages: ask('one') }, 'first')
    await client.call({ messages: a.slice(0, -1) }, 'left')
    await client.call({ messages: b.slice(0, -1) }, 'right') // it has gone back, as far as anybody can see
    await client.call({ messages: [...a, user('more left')] }, 'at the left')
    await client.call({ messages: [...b, user('more right')] }, 'at the right')
    const sessions = await client.sessions([2, 2, 4, 4, 6, 6])
    expect(sessions.map((session) => said(session).slice(3))).toEqual([
      ['go right', 'right', 'more right', 'at the right'],
      ['go left', 'left', 'more left', 'at the left'],
    ])
    expect(sessions.map(retracted)).toEqual([2, 0])
  })

  it('that are answered simultaneously keep their own answers', async () => {
    const store = memoryStore()
    const { fetch, waiting } = answeringLater(store, (messages) => `heard ${String(messages.at(-1)?.['content'])}`)
    const call = async (messages: readonly Wire[]): Promise<void> => {
      const headers = { 'session-id': 'mine' }
      await (
        await fetch('http://x/chat/completions', { method: 'POST', headers, body: JSON.stringify({ messages }) })
      ).text()
    }
    await call(ask('one'))
    const shared = [...ask('one'), assistant('heard one')]
    const both = [call([...shared, user('left')]), call([...shared, user('right')])]
    while (waiting.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    const recorded = async (): Promise<number> => {
      const { sessions } = await listSessions(store)
      return Math.max(...(await Promise.all(sessions.map(async ({ id }) => (await ok(openSession(store, id))).len))))
    }
    while ((await recorded()) < 5) await new Promise((resolve) => setTimeout(resolve, 1)) // while their provider thinks
    for (const answer of waiting) answer()
    await Promise.all(both)
    await fetch.settled()
    const { sessions } = await listSessions(store)
    const opened = await Promise.all(sessions.map(({ id }) => ok(openSession(store, id))))
    expect(opened.map((session) => said(session).slice(3)).toSorted()).toEqual([
      ['left', 'heard left'],
      ['right', 'heard right'],
    ])
  })
})

describe('a client that names its conversation', () => {
  it('may write a message differently, or replace it, and the cause says which', async () => {
    const client = new Client('/chat/completions')
    const parts = (text: string): Wire => ({ role: 'user', content: [{ type: 'text', text }] })
    await client.call({ messages: [user('one')] }, 'first', 'mine')
    await client.call({ messages: [parts('one'), assistant('first'), user('two')] }, 'second', 'mine')
    await client.call({ messages: [parts('one'), assistant('first'), user('other')] }, 'third', 'mine')
    const [session] = await client.sessions([1, 3, 3])
    expect(brokeAt(session)).toEqual([undefined, 'message 0 is written differently', 'message 2 was replaced'])
  })

  it('may drop its oldest messages and keeps its session', async () => {
    const client = new Client('/chat/completions')
    const all = ['one', 'two', 'three', 'four'].flatMap((word) => [user(word), assistant(`heard ${word}`)])
    for (const turn of [1, 2, 3, 4]) {
      const messages = all.slice(Math.max(0, turn * 2 - 4), turn * 2 - 1)
      await client.call({ messages }, `heard ${['one', 'two', 'three', 'four'][turn - 1]}`)
    }
    const [session, ...others] = await client.sessions([1, 3, 3, 3])
    expect(others).toEqual([])
    expect(said(session)).toEqual(all.map(({ content }) => content))
    expect([compactions(session), summaries(session), retracted(session)]).toEqual([2, [], 0])
  })
})

/** The texts of each call, as sent. */
const sentTexts = async (store: Store, session: Session | undefined): Promise<readonly (readonly string[])[]> =>
  session === undefined
    ? []
    : Promise.all(
        [...session.notes()].flatMap((note) =>
          note.type === 'receipt'
            ? [ok(sentMessages(store, session, note)).then((all) => all.map((message) => textOf(message as Message)))]
            : [],
        ),
      )

describe('a system message that changes with every call', () => {
  const tools = [{ type: 'function', function: { name: 'read', parameters: {} } }]
  const date = (day: number, role = 'system'): Wire => ({ role, content: `It is day ${day}.` })
  const changed = 'message 0: the system message changed'

  it.each([
    ['of a client without a name', '/chat/completions', '', false],
    ['of one with a name', '/chat/completions', 'mine', false],
    ['of one without a name, with a restart before each call', '/chat/completions', '', true],
    ['of one with a name, with a restart before each call', '/chat/completions', 'mine', true],
    ['in the input of Responses', '/responses', '', false],
  ] as const)('leaves one session, with the cause of each cache break: %s', async (_, path, name, restarts) => {
    const client = new Client(path)
    const talk: Wire[] = []
    const sent: string[][] = []
    for (const day of [1, 2, 2, 3, 4]) {
      if (restarts) await client.restart()
      const turn = sent.length
      talk.push(path === '/responses' ? input(`question ${turn}`) : user(`question ${turn}`))
      const all = [date(day, path === '/responses' ? 'developer' : 'system'), ...talk]
      await client.call({ tools, [path === '/responses' ? 'input' : 'messages']: all }, `answer ${turn}`, name)
      sent.push([
        `It is day ${day}.`,
        ...sent.flatMap((_, before) => [`question ${before}`, `answer ${before}`]),
        `question ${turn}`,
      ])
      talk.push(path === '/responses' ? output(`answer ${turn}`) : assistant(`answer ${turn}`))
    }
    const [session, ...others] = await client.sessions([2, 4, 6, 8, 10])
    expect(others).toEqual([])
    expect(said(session)).toEqual([...(sent.at(-1) ?? []).with(0, 'It is day 1.'), 'answer 4'])
    expect([retracted(session), brokeAt(session)]).toEqual([0, [undefined, changed, undefined, changed, changed]])
    expect(await sentTexts(client.store, session)).toEqual(sent)
    expect(session?.view().length).toBe(11)
  })

  it('or tools that change while the recorder restarts are the cause of the break', async () => {
    const client = new Client('/messages')
    const all = ['one', 'two', 'three', 'four'].flatMap((word) => [user(word), assistant(`to ${word}`)])
    const ask = async (turn: number, names: readonly string[], system: string): Promise<void> => {
      const tools = names.map((name) => ({ name }))
      await client.call({ tools, system, messages: all.slice(0, 2 * turn + 1) }, String(all[2 * turn + 1]?.['content']))
      await client.restart()
    }
    await ask(0, ['read'], 'Be brief.')
    await ask(1, ['read'], 'Be brief.')
    await ask(2, ['read', 'look'], 'Be brief.')
    await ask(3, ['read', 'look'], 'Be kind.')
    const [session, ...others] = await client.sessions([1, 3, 5, 7])
    expect(others).toEqual([])
    expect(brokeAt(session)).toEqual([
      undefined,
      undefined,
      'the tool list changed: +look',
      '`system` changed at character 4',
    ])
  })

  it('may be added, removed, or be one of several', async () => {
    const client = new Client('/chat/completions')
    const talk = [user('one'), assistant('first'), user('two'), assistant('second'), user('three'), assistant('third')]
    const rules = { role: 'developer', content: 'Be brief.' }
    await client.call({ messages: talk.slice(0, 1) }, 'first', '')
    await client.call({ messages: [rules, ...talk.slice(0, 3)] }, 'second', '')
    await client.call({ messages: [rules, date(1), ...talk.slice(0, 5)] }, 'third', '')
    await client.call({ messages: [rules, date(2), ...talk, user('four')] }, 'fourth', '')
    await client.call({ messages: [...talk, user('four'), assistant('fourth'), user('five')] }, 'fifth', '')
    const [session, ...others] = await client.sessions([1, 4, 7, 9, 9])
    expect(others).toEqual([])
    expect(said(session)).toEqual('one first two second three third four fourth five fifth'.split(' '))
    expect(brokeAt(session)).toEqual([
      undefined,
      'message 0: a system message was added',
      'message 1: a system message was added',
      'message 1: the system message changed',
      'message 0: the system message was removed',
    ])
  })

  it.each([
    [7, 1],
    [8, 2],
  ])('continues a session that has one of the last eight answers (%i others: %i)', async (added, count) => {
    const client = new Client('/chat/completions')
    await client.call({ messages: [user('one')] }, 'first', '')
    const others = Array.from({ length: added }, (_, index) => [user(`also ${index}`), assistant(`more ${index}`)])
    const messages = [date(1), user('one'), assistant('first'), ...others.flat(), user('two')]
    await client.call({ messages }, 'second', '')
    expect(await client.sessions([1, messages.length])).toHaveLength(count)
  })

  it.each([{ sessionOf: () => 'host' }, { content: false }])(
    'leaves one session if the host names it, or only lengths are recorded (%j)',
    async (options) => {
      const client = new Client('/chat/completions', options)
      const talk = [user('one'), assistant('first'), user('two'), assistant('second'), user('three')]
      for (const day of [1, 2, 3])
        await client.call({ tools, messages: [date(day), ...talk.slice(0, day * 2 - 1)] }, ['', 'first', 'second', 'third'][day] ?? '', '') // oxfmt-ignore
      const [session, ...others] = await client.sessions([2, 4, 6])
      expect([others, session?.view().length, brokeAt(session)]).toEqual([[], 7, [undefined, changed, changed]])
    },
  )

  it('retracts what a client with a name goes back from, and forks for one without', async () => {
    for (const name of ['mine', '']) {
      const client = new Client('/chat/completions')
      const talk = [user('one'), assistant('first'), user('two'), assistant('second')]
      await client.call({ messages: [date(1), ...talk.slice(0, 1)] }, 'first', name)
      await client.call({ messages: [date(2), ...talk.slice(0, 3)] }, 'second', name)
      await client.call({ messages: [date(3), ...talk, user('three')] }, 'third', name)
      const back = [...talk.slice(0, 2), user('another two')]
      await client.call({ messages: [date(4), ...back] }, 'other second', name)
      await client.call({ messages: [date(4), ...back, assistant('other second'), user('more')] }, 'more', name)
      const sessions = await client.sessions(name === '' ? [2, 4, 6, 2, 4, 6] : [2, 4, 6, 4, 6])
      expect(sessions.map((session) => said(session).slice(1))).toEqual([
        ...(name === '' ? [['one', 'first', 'two', 'second', 'three', 'third']] : []),
        ['one', 'first', 'another two', 'other second', 'more', 'more'],
      ])
      expect(brokeAt(sessions.at(-1)).slice(-2)).toEqual([changed, undefined])
      expect((await sentTexts(client.store, sessions.at(-1))).at(-2)).toEqual(['It is day 4.', 'one', 'first', 'another two']) // oxfmt-ignore
    }
  })

  it('together with other tools is another agent, whose calls are a fork', async () => {
    const client = new Client('/chat/completions')
    const talk = [date(1), user('one'), assistant('first'), user('two'), assistant('second')]
    await client.call({ tools, messages: talk.slice(0, 2) }, 'first', '')
    await client.call({ messages: [date(9), ...talk.slice(1, 3), user('title?')] }, 'a title', '')
    await client.call({ tools, messages: talk.slice(0, 4) }, 'second', '')
    const sessions = await client.sessions([2, 2, 4, 4])
    expect(sessions.map(said)).toEqual([
      ['It is day 1.', 'one', 'first', 'two', 'second'],
      ['It is day 1.', 'one', 'first', 'title?', 'a title'],
    ])
    expect(sessions[1]?.forkedFrom?.id).toBe(sessions[0]?.id)
    expect(brokeAt(sessions[0])).toEqual([undefined, undefined])
  })

  it('of a second call while the first waits for its answer is a fork, and the first keeps its session', async () => {
    const store = memoryStore()
    const { fetch, waiting } = answeringLater(store, ([first]) => `${String(first?.['content'])} answered`)
    const call = async (...messages: readonly Wire[]): Promise<void> =>
      void (await (
        await fetch('http://x/chat/completions', { method: 'POST', body: JSON.stringify({ messages }) })
      ).text())
    const talk = [user('one'), assistant('It is day 1. answered'), user('two')]
    await call(date(1), user('one'))
    const both = [call(date(1), ...talk), call(date(2), ...talk)]
    while ((await listSessions(store)).sessions.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    while (waiting.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    for (const answer of waiting) answer()
    await Promise.all(both)
    await fetch.settled()
    const { sessions } = await listSessions(store)
    const opened = await Promise.all(sessions.toReversed().map(({ id }) => ok(openSession(store, id))))
    expect(opened.map((session) => said(session).at(-1)).toSorted()).toEqual(['It is day 1. answered', 'It is day 2. answered']) // oxfmt-ignore
    expect(opened.map((session) => session.forkedFrom?.at).toSorted()).toEqual([3, undefined])
    expect(opened.flatMap(brokeAt).filter((cause) => cause !== undefined)).toEqual([changed])
  })

  it.each<readonly [string, (client: Client) => Promise<void>, readonly Wire[]]>([
    [
      'the same words and answer in two conversations',
      async (client) => {
        for (const day of [1, 2]) await client.call({ messages: [date(day), user('hi')] }, 'Hello.', '')
      },
      [user('hi'), assistant('Hello.'), user('more')],
    ],
    [
      'other credentials',
      (client) => client.call({ messages: [date(1), user('hi')] }, 'Hello.', { authorization: 'another' }),
      [user('hi'), assistant('Hello.'), user('more')],
    ],
    [
      'another name',
      (client) => client.call({ messages: [date(1), user('hi')] }, 'Hello.', 'mine'),
      [user('hi'), assistant('Hello.'), user('more')],
    ],
    [
      'no answer in common',
      (client) => client.call({ messages: [date(1), user('hi')] }, 'Hello.', ''),
      [user('hi'), assistant('Welcome.'), user('more')],
    ],
    [
      'an example that is no recorded answer',
      (client) => client.call({ messages: [date(1), user('hi'), assistant('Hello.'), user('bye')] }, 'Bye.', ''),
      [user('hi'), assistant('Hello.'), user('more')],
    ],
    [
      'another message before the answer',
      (client) => client.call({ messages: [date(1), user('a'), user('hi')] }, 'Hello.', ''),
      [user('b'), user('hi'), assistant('Hello.'), user('more')],
    ],
  ])('never leads into the session of another: %s', async (_, before, messages) => {
    const client = new Client('/chat/completions')
    await before(client)
    await client.settled()
    const known = (await listSessions(client.store)).sessions.length
    await client.call({ messages: [date(7), ...messages] }, 'x', '')
    await client.settled()
    const { sessions } = await listSessions(client.store)
    expect(sessions).toHaveLength(known + 1)
    const opened = await Promise.all(sessions.map(({ id }) => ok(openSession(client.store, id))))
    expect(opened.map((session) => session.forkedFrom)).toEqual(sessions.map(() => undefined))
    expect(opened.filter((session) => said(session).includes('more')).map(said)).toEqual([
      ['It is day 7.', ...messages.map(({ content }) => content), 'x'],
    ])
  })
})

describe('a client without a name that sends its last messages only', () => {
  it.each([false, true])('leaves one session (restarts: %j)', async (restarts) => {
    const client = new Client('/chat/completions')
    const all = [0, 1, 2, 3, 4, 5].flatMap((turn) => [user(`question ${turn}`), assistant(`answer ${turn}`)])
    const system = { role: 'system', content: 'Be brief.' }
    for (let turn = 0; turn < 6; turn++) {
      if (restarts) await client.restart()
      const messages = [system, ...all.slice(Math.max(0, turn * 2 - 4), turn * 2 + 1)]
      await client.call({ messages }, `answer ${turn}`, '')
    }
    const [session, ...others] = await client.sessions([2, 4, 6, 6, 6, 6])
    expect(others).toEqual([])
    expect(said(session)).toEqual(['Be brief.', ...all.map(({ content }) => content)])
    expect(retracted(session)).toBe(0)
    const dropped = 'message 1: 2 of the oldest messages were left out'
    expect(brokeAt(session)).toEqual([undefined, undefined, undefined, dropped, dropped, dropped])
    expect((await sentTexts(client.store, session)).at(-1)).toEqual([
      'Be brief.',
      ...all.slice(6, 11).map(({ content }) => content),
    ])
  })
})

describe('recording Codex', () => {
  const update = { type: 'configuration_update', reasoning: { effort: 'low' } }

  it('keeps the session without retraction when items are inserted after a question', async () => {
    const client = new Client('/responses')
    const tools = { type: 'additional_tools', role: 'developer', tools: [] }
    const first = [tools, input('be brief', 'developer'), input('one'), update]
    await client.call({ input: first }, 'first')
    await client.call({ input: [...first, output('first'), input('two'), update] }, 'second')
    const [session, ...others] = await client.sessions([4, 7])
    expect(others).toEqual([])
    expect(said(session)).toEqual([
      '(provider)',
      'be brief',
      'one',
      '(provider)',
      'first',
      'two',
      '(provider)',
      'second',
    ])
    expect(retracted(session)).toBe(0)
  })

  it('stores each sub-agent under the shared session id as a session, without retraction', async () => {
    const client = new Client('/responses')
    const wire = input('be brief', 'developer')
    const [context, rest] = [input('<environment>here</environment>'), output('looking')]
    const call = (thread: string, items: readonly Wire[], answer: string): Promise<void> =>
      client.call({ input: items }, answer, { 'session-id': 'root', 'thread-id': thread })
    await call('root', [wire, context, input('one')], 'looking')
    await call('sub-a', [wire, context, input('read a')], 'reading a')
    await call('sub-b', [wire, context, input('read b')], 'reading b')
    await call('sub-a', [wire, context, input('read a'), output('reading a'), input('result a')], 'said a')
    await call('sub-b', [wire, context, input('read b'), output('reading b'), input('result b')], 'said b')
    await call('root', [wire, context, input('one'), rest, input('a and b')], 'both')
    const sessions = await client.sessions([3, 3, 3, 5, 5, 5])
    expect(sessions.map((session) => [session.metadata()['client'], ...said(session).slice(2)])).toEqual([
      ['root', 'one', 'looking', 'a and b', 'both'],
      ['sub-a', 'read a', 'reading a', 'result a', 'said a'],
      ['sub-b', 'read b', 'reading b', 'result b', 'said b'],
    ])
    expect([sessions.map(retracted), sessions.map(compactions)]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ])
  })

  it('stores sub-agents that start with its history as forks', async () => {
    const client = new Client('/responses')
    const call = (thread: string, items: readonly Wire[], answer: string): Promise<void> =>
      client.call({ input: items }, answer, { 'session-id': 'root', 'thread-id': thread })
    const task = (name: string): Wire => ({
      type: 'agent_message',
      author: '/root',
      recipient: `/root/${name}`,
      content: [{ type: 'input_text', text: `look at ${name}` }],
    })
    const shared = [input('be brief', 'developer'), input('one'), output('looking')]
    await call('root', shared.slice(0, 2), 'looking')
    for (const name of ['a', 'b']) await call(`sub-${name}`, [...shared, task(name)], `reading ${name}`)
    await call('root', [...shared, input('go on')], 'both')
    for (const name of ['a', 'b'])
      await call(`sub-${name}`, [...shared, task(name), output(`reading ${name}`), input('now')], `said ${name}`)
    const sessions = await client.sessions([2, 4, 2, 4, 2, 4, 6, 6])
    expect(sessions.map((session) => [session.metadata()['client'], ...said(session).slice(3)])).toEqual([
      ['root', 'go on', 'both'],
      ['sub-a', '(provider)', 'reading a', 'now', 'said a'],
      ['sub-b', '(provider)', 'reading b', 'now', 'said b'],
    ])
    expect(sessions.map(retracted)).toEqual([0, 0, 0])
  })

  it('accepts a compaction item that only the provider can read', async () => {
    const client = new Client('/responses')
    const wire = input('be brief', 'developer')
    const tools = (id: string): Wire => ({ type: 'additional_tools', id, role: 'developer', tools: [] })
    const first = [tools('t1'), wire, input('context'), input('one'), output('first'), input('two')]
    await client.call({ input: first.slice(0, 4) }, 'first')
    await client.call({ input: first }, 'second')
    const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }
    await client.call({ input: [...first, output('second'), { type: 'compaction_trigger' }] }, [item])
    const after = [tools('t2'), wire, input('one'), input('context'), input('two'), item, input('three')]
    await client.call({ input: after }, 'third')
    await client.restart()
    await client.call({ input: [...after, output('third'), input('four')] }, 'fourth')
    const [session, ...others] = await client.sessions([4, 6, 8, 7, 9])
    expect(others).toEqual([])
    expect(said(session)).toEqual([
      '(provider)',
      'be brief',
      'context',
      'one',
      'first',
      'two',
      'second',
      'three',
      'third',
      'four',
      'fourth',
    ])
    expect([compactions(session), summaries(session), retracted(session)]).toEqual([1, [], 2])
  })
})

describe('an old tool result that a client edits', () => {
  const tools = [{ type: 'function', function: { name: 'read', parameters: {} } }]
  const calls = [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }]
  const said = (result: string): readonly Wire[] => [
    user('one'),
    { role: 'assistant', content: 'I look', tool_calls: calls },
    { role: 'tool', tool_call_id: 'c1', content: result },
    assistant('it says so'),
  ]

  it.each([
    ['by a client without a name, with a fork', '', false, ['message 2: the result of read was edited']],
    ['by one with a name', 'mine', false, ['message 2: the result of read was edited']],
    ['by one without a name, after a restart', '', true, ['message 2: the result of read was edited']],
  ])('is reported as the cause of a cache break: %s', async (_, name, restarts, causes) => {
    const client = new Client('/chat/completions')
    await client.call({ tools, messages: said('a long result').slice(0, 3) }, 'it says so', name)
    await client.call({ tools, messages: [...said('a long result'), user('two')] }, 'second', name)
    if (restarts) await client.restart()
    await client.call(
      { tools, messages: [...said('[cleared]'), user('two'), assistant('second'), user('three')] },
      'x',
      name,
    )
    const sessions = await client.sessions([3, 5, 7])
    expect(sessions).toHaveLength(name === '' ? 2 : 1)
    expect(brokeAt(sessions.at(-1)).filter((cause) => cause !== undefined)).toEqual(causes)
  })

  it('is reported beside inserted and removed messages; going back in a fork has no cause', async () => {
    const client = new Client('/chat/completions')
    const call = (messages: readonly Wire[]): Promise<void> => client.call({ tools, messages }, 'x', '')
    const all = [...said('result'), user('two'), assistant('x'), user('three')]
    await call(all)
    await call([...all.slice(0, 1), assistant('looked'), ...all.slice(3)]) // shares nothing that was answered
    await call([...all.slice(0, 4), ...all.slice(5)])
    await call([...all.slice(0, 4), user('before'), ...all.slice(4)])
    await call([...all.slice(0, 4), user('another two')])
    const sessions = await client.sessions([7, 6, 6, 8, 5])
    expect(sessions.flatMap(brokeAt).filter((cause) => cause !== undefined)).toEqual([
      'message 4: a user message was removed',
      'message 4: a message was inserted before an answer',
    ])
  })

  it('is not needed in a fork whose system text or tools changed', async () => {
    const client = new Client('/messages')
    const read = { name: 'Read', input_schema: {} }
    const first = [user('one')]
    const call = (system: string, names: readonly Wire[], text: string): Promise<void> =>
      client.call({ system, tools: names, messages: [...first, assistant('x'), user(text)] }, text, '')
    await client.call({ system: 'Be kind.', tools: [read], messages: first }, 'x', '')
    await call('Be kind.', [read], 'two')
    await call('Be cruel.', [read], 'three')
    await call('Be kind.', [read, { ...read, name: 'Write' }], 'four')
    const sessions = await client.sessions([1, 1, 1, 3, 3, 3])
    expect(sessions.map((session) => brokeAt(session).slice(1))).toEqual([
      [undefined],
      ['`system` changed at character 4'],
      ['the tool list changed: +Write'],
    ])
  })
})

describe('recording Gemini CLI', () => {
  it('keeps the session when a resumed client sends a result twice', async () => {
    const client = new Client('/messages')
    const tools = [{ name: 'read', input_schema: {} }]
    const result = { type: 'tool_result', tool_use_id: 'c1', content: 'alpha' }
    const use = { type: 'tool_use', id: 'c1', name: 'read', input: {} }
    const before = [user('one'), { role: 'assistant', content: [...text('first'), use] }]
    await client.call({ tools, messages: [...before, { role: 'user', content: [result] }] }, 'second', '')
    const twice = { role: 'user', content: [result, result] }
    await client.call({ tools, messages: [...before, twice, assistant('second'), user('two')] }, 'third', '')
    const [session, ...others] = await client.sessions([3, 5])
    expect(others).toEqual([])
    expect(said(session)).toEqual(['one', 'first', 'alpha', 'second', 'two', 'third'])
  })
})
