/** What an overview of a session costs beside what was erased from others, and that it counts what was erased from it. */
import { expect, it } from 'vitest'
import { assistant, createSession, forkSession, memoryStore, user, type Store } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { storeTask } from 'indelible/internal/store'
import { firstWordsOf, projectIn, spendingOf, workFolderOf } from '../src/texts/about.ts'
import { overviewsOf } from '../src/server/overview.ts'
import { sessionsOf } from '../src/server/read-view.ts'

/** A store that counts how often a log is looked up. */
const counting = (store: Store): { readonly store: Store; lookups: number } => {
  const counted = { lookups: 0, store }
  const { info, identities, read } = store
  counted.store = {
    ...store,
    info: (id) => storeTask(async () => (counted.lookups++, info(id)()), 'info'),
    identities: (id) => storeTask(async () => (counted.lookups++, identities(id)()), 'identities'),
    read: (id, range) => storeTask(async () => (counted.lookups++, read(id, range)()), 'read'),
  }
  return counted
}

it('an overview costs the same with many erasures as with one', async () => {
  const lookups = async (erasures: number): Promise<number> => {
    const inner = memoryStore()
    await (await createSession(inner, { id: 'own' })).append([user('hello'), assistant('hi')])
    for (let index = 0; index < erasures; index++) {
      await (await createSession(inner, { id: `e${index}` })).append([user('a secret'), assistant('noted')])
      await eraseMessages(inner, `e${index}`, [0])
    }
    const counted = counting(inner)
    const overviews = overviewsOf(counted.store)
    await overviews(['own'])
    const before = counted.lookups
    expect(await overviews(['own'])).toMatchObject([{ id: 'own', words: 'hello' }])
    return counted.lookups - before
  }
  expect(await lookups(20)).toBe(await lookups(1))
})

it('an overview counts erased messages, own and shared with a fork', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 'a' })
  await session.append(['one', 'two', 'three'].map((text) => user(text)))
  await forkSession(store, 'a', { id: 'early', at: 1 })
  await forkSession(store, 'a', { id: 'late', at: 3 })
  const overviews = overviewsOf(store)
  const erasedCounts = async (): Promise<readonly unknown[]> =>
    (await overviews(['a', 'early', 'late'])).map((overview) => overview.erased)
  expect(await erasedCounts()).toEqual([undefined, undefined, undefined])
  await eraseMessages(store, 'late', [1])
  expect(await erasedCounts()).toEqual([1, undefined, 1])
  await eraseMessages(store, 'a', [0])
  expect(await erasedCounts()).toEqual([2, 1, 2])
  await store.remove('a')
  await createSession(store, { id: 'a' })
  expect(await erasedCounts()).toEqual([undefined, 1, 2])
})

it('first words come from a person, without /commands, program text and tags', () => {
  const first = (...texts: readonly string[]): string => firstWordsOf(texts.map((text) => user(text)))
  expect(first('"Read the file \\u2022 na\\u00efve\\nThen go on."')).toBe('Read the file • naïve\nThen go on.')
  expect(first('/model', 'Fix the build.')).toBe('Fix the build.')
  expect(
    first('# AGENTS.md instructions\n\nBe brief.', '<environment_context>\nlinux\n</environment_context>', 'Fix it.'),
  ).toBe('Fix it.')
  expect(first('# AGENTS.md instructions', '<context>\nThe repo is a/b.\n</context>\n<aim>\nFix it.\n</aim>')).toMatch(
    /^The repo is a\/b\.\s+Fix it\.$/,
  )
  // Cline 2 and 3, and Cursor.
  for (const text of [
    '<task>\nFix it.\n</task>\n<environment_details>\nlinux\n</environment_details>',
    '<user_input mode="act">Fix it.</user_input>',
    '<context>\nThe repo is a/b.\n</context>\n<user_query>\nFix it.\n</user_query>',
  ])
    expect(first(text)).toBe('Fix it.')
  expect(first('<user_input mode="act">Fix it')).toBe('Fix it')
  // As a script gives it: JSON in a text.
  expect(first(String.raw`"<context>\nThe repo is a/b.\n</context>\nFix it, please."`)).toBe('Fix it, please.')
  expect(first('/model')).toBe('/model')
  expect([first(`${' '.repeat(19_999)}word`), first(`${' '.repeat(20_000)}word`)]).toEqual(['w', ''])
  expect(first()).toBe('')
})

it('an overview tells who erased and why, how often the cache broke, and how many calls have no known price', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 'calls' })
  const call = async (cacheRead: number, input: number): Promise<unknown> => {
    await session.append([user('more'), assistant('done')])
    const usage = { input, output: 10, cacheRead, cacheWrite: 100 }
    return session.note({ type: 'receipt', len: session.len - 1, contextDigest: '0'.repeat(64), model: 'm', usage })
  }
  for (const [cacheRead, input] of [[0, 9000], [9000, 10_000], [0, 11_000], [11_000, 12_000]] as const) await call(cacheRead, input) // oxfmt-ignore
  const overviews = overviewsOf(store)
  expect(await overviews(['calls'])).toMatchObject([{ breaks: 1, unpriced: 4 }])
  expect((await overviews(['calls']))[0]).not.toHaveProperty('dollars')
  await session.note({
    type: 'receipt',
    len: 1,
    contextDigest: '0'.repeat(64),
    model: 'gpt-5.4',
    usage: { input: 100_000, output: 0 },
  })
  expect(await overviews(['calls'])).toMatchObject([{ dollars: 0.25, unpriced: 4 }])
  await eraseMessages(store, 'calls', [2], { reason: 'a request', by: 'ann' })
  expect(await overviews(['calls'])).toMatchObject([
    { erased: 1, erasures: [{ by: 'ann', reason: 'a request', rows: [3], at: expect.any(Number) as number }] },
  ])
})

it('an overview of a fork counts its own calls, and names the models of all', async () => {
  let time = 0
  const store = memoryStore({ now: () => ++time })
  const session = await createSession(store, { id: 'a' })
  const call = async (to: typeof session, model: string, input: number): Promise<void> => {
    await to.append([user('more'), assistant('done')])
    await to.note({
      type: 'receipt',
      len: to.len - 1,
      contextDigest: '0'.repeat(64),
      model,
      usage: { input, output: 1 },
    })
  }
  await call(session, 'gpt-5.4', 100_000)
  await call(await forkSession(store, 'a', { id: 'b' }), 'm', 7)
  expect(await overviewsOf(store)(['a', 'b'])).toMatchObject([
    { input: 100_000, output: 1, models: ['gpt-5.4'] },
    { input: 7, output: 1, unpriced: 1, models: ['gpt-5.4', 'm'] },
  ])
})

it('the project is the folder that a file names, longer where others end alike', () => {
  const folder = (metadata: object): string | undefined => workFolderOf({ metadata: { from: { metadata } } } as never)
  expect([folder({ cwd: '/home/ann/shop/' }), folder({ directory: 'C:\\notes' })]).toEqual([
    '/home/ann/shop/',
    'C:\\notes',
  ])
  expect(workFolderOf({ metadata: { cwd: '/srv/app' } })).toBe('/srv/app')
  for (const none of [{}, { cwd: '/' }, { cwd: 5 }]) expect(folder(none)).toBeUndefined()
  const folders = ['/home/ann/shop/', '/home/ann/work/shop', 'C:\\notes', '/shop']
  expect(folders.map((folder) => projectIn(folder))).toEqual(['shop', 'shop', 'notes', 'shop'])
  expect(folders.map((folder) => projectIn(folder, folders))).toEqual(['ann/shop', 'work/shop', 'notes', 'shop'])
})

it('what calls cost is at least that of the counted ones where another was answered', () => {
  const call = { model: 'gpt-5.4' }
  const counted = { ...call, usage: { input: 100_000, output: 0 } }
  expect(spendingOf([counted, call])).toEqual({ input: 100_000, output: 0, dollars: 0.25, undercounted: true })
  expect(spendingOf([counted, { ...call, isFailed: true }])).toEqual({ input: 100_000, output: 0, dollars: 0.25 })
})

it('a list shows its first 100 sessions at once, and then up to 1,000 at a time', async () => {
  const store = memoryStore()
  for (let index = 0; index < 250; index++) await createSession(store, { id: `s${index}` })
  const first = await sessionsOf(store, null)
  const second = await sessionsOf(store, first.next ?? '')
  expect([first.sessions.length, second.sessions.length, second.next]).toEqual([100, 150, undefined])
  expect(new Set([...first.sessions, ...second.sessions].map(({ id }) => id)).size).toBe(250)
})
