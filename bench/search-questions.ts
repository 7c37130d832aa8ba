/**
 * Questions to a store: how often the right session is the first, and among the first five, and how long it takes. The
 * questions and their evidence are LoCoMo's (`evidence.ts` says where it comes from; `47.json`, `48.json`, `49.json` and
 * `50.json` too): each conversation is some 27 sessions over months. A session is right if one of its messages is evidence.
 *
 *     node search-questions.ts own               each conversation in a store of its own, beside minisearch
 *     node search-questions.ts many [SESSIONS]   all of them in one file, among so many other sessions of 20 messages
 *     node search-questions.ts large [MESSAGES]  only the time, in sessions of 20 of their messages at random, so that every word is frequent
 *     node search-questions.ts postgres          the same results from PostgreSQL as from SQLite and memory
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import MiniSearch from 'minisearch'
import { createSession, memoryStore, type Message, type Store } from 'indelible'
import { indexStore, searchStore } from 'indelible/search'
import { sqliteStore } from 'indelible/store/sqlite'
import { messages as others } from './messages.ts'
import { machine } from './measure.ts'

interface Session {
  readonly id: string
  readonly at: number
  readonly messages: readonly Message[]
}

interface Question {
  readonly question: string
  readonly right: ReadonlySet<string>
}

interface Conversation {
  readonly sessions: readonly Session[]
  readonly questions: readonly Question[]
}

const months = 'January February March April May June July August September October November December'.split(' ')

const timeOf = (text: string): number => {
  const [, hour = '', minute, half, day, month = '', year] =
    /(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)/.exec(text) ?? []
  const hours = (Number(hour) % 12) + (half === 'pm' ? 12 : 0)
  return Date.UTC(Number(year), months.indexOf(month), Number(day), hours, Number(minute))
}

const conversation = (id: number): Conversation => {
  const file = JSON.parse(readFileSync(new URL(`.cache/locomo/${id}.json`, import.meta.url), 'utf8')) as Record<
    string,
    unknown
  >
  const sessions: Session[] = []
  for (let number = 1; Array.isArray(file[`session_${number}`]); number++)
    sessions.push({
      id: `${id}:D${number}`,
      at: timeOf(String(file[`session_${number}_date_time`])),
      messages: (file[`session_${number}`] as readonly Record<string, string>[]).map((turn) => ({
        role: turn['speaker'] === file['speaker_a'] ? 'user' : 'assistant',
        content: [
          {
            type: 'text',
            text: `${turn['speaker']}: ${turn['text']}${turn['blip_caption'] === undefined ? '' : ` [shares ${turn['blip_caption']}]`}`,
          },
        ],
      })),
    })
  const asked = file['qa'] as readonly { readonly question: string; readonly evidence: readonly string[] }[]
  const questions = asked
    .map(({ question, evidence }) => ({
      question,
      right: new Set(evidence.flatMap((output) => output.match(/D\d+(?=:\d)/g) ?? []).map((name) => `${id}:${name}`)),
    }))
    .filter(({ right }) => right.size > 0)
  return { sessions, questions }
}

/** The constants were chosen on the first six. */
const chosenOn = [26, 30, 41, 42, 43, 44]
const heldOut = [47, 48, 49, 50]

interface Found {
  questions: number
  first: number
  five: number
  readonly times: number[]
  /** Of the processor, which a busy machine changes less. */
  readonly spent: number[]
}

const ask = async (
  find: (question: string) => Promise<readonly string[]>,
  questions: readonly Question[],
  to: Found,
) => {
  for (const { question, right } of questions) {
    const [from, before] = [performance.now(), process.cpuUsage()]
    const found = await find(question)
    to.times.push(performance.now() - from)
    const { user, system } = process.cpuUsage(before)
    to.spent.push((user + system) / 1000)
    to.questions += 1
    if (right.has(found[0] ?? '')) to.first += 1
    if (found.slice(0, 5).some((id) => right.has(id))) to.five += 1
  }
}

const nothing = (): Found => ({ questions: 0, first: 0, five: 0, times: [], spent: [] })
const percent = (part: number, of: number): string => `${((100 * part) / of).toFixed(1)} %`
const quantile = (values: readonly number[], share: number): string =>
  `${(values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? NaN).toFixed(1)} ms`
const row = (name: string, { questions, first, five, times, spent }: Found): void =>
  console.log(
    `| ${name} | ${questions} | ${percent(first, questions)} | ${percent(five, questions)} | ${quantile(times, 0.5)} | ${quantile(times, 0.95)} | ${quantile(spent, 0.5)} | ${quantile(spent, 0.95)} |`,
  )

/** A store's clock, which `fill` sets to the time of each session. */
const clock = { at: 0 }
const now = (): number => clock.at

const fill = async (store: Store, sessions: readonly Session[]): Promise<void> => {
  for (const { id, at, messages } of sessions) {
    clock.at = at
    await createSession(store, { id, messages })
  }
}

const findIn =
  (store: Store) =>
  async (question: string): Promise<readonly string[]> =>
    (await searchStore(store, { question, limit: 5 })).sessions.map(({ session }) => session)

const wholeText = ({ messages }: Session): string =>
  messages.map(({ content }) => content.map((part) => (part.type === 'text' ? part.text : '')).join('')).join('\n')

/** minisearch over whole sessions, or over messages, whose best one stands for its session. */
const peer = (sessions: readonly Session[], by: 'session' | 'message') => {
  const index = new MiniSearch<{ readonly id: string; readonly text: string }>({ fields: ['text'] })
  index.addAll(
    sessions.flatMap((session) =>
      by === 'session'
        ? [{ id: session.id, text: wholeText(session) }]
        : session.messages.map((message, at) => ({
            id: `${session.id} ${at}`,
            text: wholeText({ ...session, messages: [message] }),
          })),
    ),
  )
  return async (question: string): Promise<readonly string[]> => [
    ...new Set(index.search(question).map(({ id }) => String(id).split(' ')[0] ?? '')),
  ]
}

const heading =
  '| | questions | first | first five | median | p95 | processor | p95 |\n|---|---:|---:|---:|---:|---:|---:|---:|'
const folder = mkdtempSync(join(tmpdir(), 'indelible-questions-'))
const [what = 'own', count = '10000'] = process.argv.slice(2)
if (!existsSync(new URL('.cache/locomo/50.json', import.meta.url))) throw new Error('LoCoMo is not in .cache/locomo')
console.log(`${machine()}\n`)
const groups = [
  ['six conversations', chosenOn.map(conversation)],
  ['four others', heldOut.map(conversation)],
] as const

if (what === 'own') {
  console.log(heading)
  for (const [name, conversations] of groups) {
    const found = { memory: nothing(), session: nothing(), message: nothing() }
    for (const { sessions, questions } of conversations) {
      const store = memoryStore({ now })
      await fill(store, sessions)
      await ask(findIn(store), questions, found.memory)
      await ask(peer(sessions, 'session'), questions, found.session)
      await ask(peer(sessions, 'message'), questions, found.message)
    }
    row(`${name}: searchStore`, found.memory)
    row(`${name}: minisearch, sessions`, found.session)
    row(`${name}: minisearch, messages`, found.message)
  }
}

if (what === 'postgres') {
  const { startPostgres } = await import('../packages/postgres/test/postgres-server.ts')
  const { postgresStore } = await import('@indelible/postgres')
  const server = await startPostgres(true)
  if (server === undefined) throw new Error('no PostgreSQL')
  console.log(heading)
  let differing = 0
  const found = { memory: nothing(), sqlite: nothing(), postgres: nothing() }
  for (const id of [...chosenOn, ...heldOut]) {
    const { sessions, questions } = conversation(id)
    const stores = {
      memory: memoryStore({ now }),
      sqlite: await sqliteStore({ path: join(folder, `${id}.db`), durability: 'os', now }),
      postgres: await postgresStore({ connectionString: server.url, schema: `questions ${id}`, now }),
    }
    for (const [name, store] of Object.entries(stores)) {
      await fill(store, sessions)
      if (name !== 'memory') await indexStore(store)
    }
    for (const name of ['memory', 'sqlite', 'postgres'] as const)
      await ask(findIn(stores[name]), questions, found[name])
    for (const { question } of questions) {
      const answers = []
      for (const store of Object.values(stores)) {
        const { sessions: all, more } = await searchStore(store, { question })
        answers.push(
          JSON.stringify([
            more,
            all.map(({ passages, ...each }) => [each, passages.map(({ position, score }) => [position, score])]),
          ]),
        )
      }
      if (new Set(answers).size > 1) differing += 1
    }
    for (const store of Object.values(stores)) await store.close()
  }
  for (const name of ['memory', 'sqlite', 'postgres'] as const) row(name, found[name])
  console.log(`\n${differing} questions with different answers`)
  await server.stop()
}

if (what === 'many') {
  const path = join(folder, 'many.db')
  const store = await sqliteStore({ path, durability: 'os', now })
  const each = 20
  let state = 7
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state % below
  }
  const start = Date.UTC(2022, 0, 1)
  const other = (number: number): Session => {
    const from = random(others.length - each)
    return { id: `other ${number}`, at: start + random(700) * 86_400_000, messages: others.slice(from, from + each) }
  }
  const all = groups.flatMap(([, conversations]) => conversations)
  const wanted = Number(count)
  const own = all.flatMap(({ sessions }) => sessions)
  const step = Math.max(1, Math.floor(wanted / own.length))
  let filled = 0
  for (const session of own) {
    await fill(store, [session, ...Array.from({ length: step }, () => other(filled++))])
  }
  await fill(
    store,
    Array.from({ length: Math.max(0, wanted - filled) }, () => other(filled++)),
  )
  const plain = statSync(path).size
  const began = performance.now()
  const rows = await indexStore(store)
  console.log(
    `${wanted} other sessions of ${each} messages; ${rows} rows indexed in ${((performance.now() - began) / 1000).toFixed(0)} s\n\n${heading}`,
  )
  for (const [name, conversations] of groups) {
    const found = nothing()
    for (const { questions } of conversations) await ask(findIn(store), questions, found)
    row(name, found)
  }
  await store.close()
  console.log(
    `\n${((statSync(path).size - plain) / 1e6).toFixed(0)} MB more with the index, ${(plain / 1e6).toFixed(0)} MB before`,
  )
}
if (what === 'large') {
  const path = join(folder, 'large.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const all = groups.flatMap(([, conversations]) => conversations)
  const said = all.flatMap(({ sessions }) => sessions.flatMap(({ messages }) => messages))
  const wanted = process.argv[3] === undefined ? 1_000_000 : Number(count)
  let state = 7
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state % below
  }
  const some = (): readonly Message[] => Array.from({ length: 20 }, () => said[random(said.length)] as Message)
  for (let made = 0; made < wanted / 20; made += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => createSession(store, { id: `s${made + index}`, messages: some() })),
    )
  const plain = statSync(path).size
  const began = performance.now()
  const rows = await indexStore(store)
  console.log(`${rows} rows indexed in ${((performance.now() - began) / 1000).toFixed(0)} s\n\n${heading}`)
  const questions = all.flatMap((conversation) => conversation.questions.slice(0, 30))
  for (const [name, options] of [
    ['all sessions', {}],
    ['a thousand of them', { sessions: Array.from({ length: 1000 }, (_, index) => `s${index * 7}`) }],
  ] as const) {
    const found = nothing()
    const find = async (question: string): Promise<readonly string[]> =>
      (await searchStore(store, { question, ...options })).sessions.map(({ session }) => session)
    await ask(find, questions, found)
    row(name, found)
  }
  await store.close()
  console.log(
    `\n${((statSync(path).size - plain) / 1e6).toFixed(0)} MB more with the index, ${(plain / 1e6).toFixed(0)} MB before`,
  )
}
rmSync(folder, { recursive: true, force: true })
