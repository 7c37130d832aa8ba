/**
 * Many streams at once through `indelible record --listen`, which is killed in the middle: what was whole is recorded, the
 * rest is marked by the next one, and everything can be read. At full size a thousand, on PostgreSQL, too.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { listSessions, openSession, textOf, verifySession, type Message, type Session, type Store } from 'indelible'
import { detailsOf, sentMessages } from 'indelible/recorder'
import { postgresStore } from 'indelible/store/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { ok } from '../answers.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { main } from './indelible.ts'
import { rounds } from '../rounds.ts'

const streams = rounds(12, 1000)
const teams = ['red', 'green', 'blue'] as const
const folder = mkdtempSync(join(tmpdir(), 'indelible-record-kill-'))
const server = streams < 100 ? undefined : await startPostgres()
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const stores: readonly (readonly [name: string, path: string, open: () => Promise<Store>])[] = [
  ['SQLite', join(folder, 's.db'), () => ok(sqliteStore({ path: join(folder, 's.db') }))],
  ...(server === undefined
    ? []
    : [
        [
          'PostgreSQL',
          `${server.url}?schema=record_kill`,
          () => ok(postgresStore({ connectionString: server.url, schema: 'record_kill' })),
        ] as const,
      ]),
]

const event = (delta: object, reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', model: 'gpt-x', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`

/** A provider that ends every second stream, and leaves the others open behind their first words. */
const provider = createServer((incoming: IncomingMessage, outgoing: ServerResponse) => {
  let body = ''
  incoming.on('data', (chunk) => (body += String(chunk)))
  incoming.on('end', () => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(event({ role: 'assistant', content: 'first ' }))
    if (body.includes('whole')) outgoing.end(`${event({ content: 'and last' })}${event({}, 'stop')}data: [DONE]\n\n`)
  })
})

/** The command, listening, and the address of the provider. */
const listening = (store: string, upstream: number): Promise<readonly [child: ChildProcess, url: string]> =>
  new Promise((resolve, reject) => {
    const args = ['--listen', '127.0.0.1:0', '--scope-header', 'x-team', '--store', store]
    const to = ['--upstream', `openai=http://127.0.0.1:${upstream}/v1`]
    const child = spawn(process.execPath, [main, 'record', ...args, ...to], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stderr.on('data', (chunk) => (said += String(chunk)))
    child.stdout.on('data', (chunk) => {
      const url = /^(http:\S+\/openai) /m.exec((said += String(chunk)))?.[1]
      if (url !== undefined) resolve([child, url])
    })
    child.on('exit', () => reject(new Error(said)))
  })

const over = (child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> =>
  new Promise((resolve) => {
    child.on('exit', resolve)
    child.kill(signal)
  })

const agent = new Agent({ keepAlive: false, maxSockets: Infinity })

/** One call: resolves at its end, and `begun` when its first bytes are there. */
const called = (url: string, text: string, team: string, begun: () => void): Promise<'whole' | 'cut'> =>
  new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'x-team': team, 'session-id': text }
    const asking = request(`${url}/chat/completions`, { method: 'POST', headers, agent }, (answer) => {
      let heard = ''
      answer.on('data', (chunk) => {
        if (heard === '') begun()
        heard += String(chunk)
      })
      answer.on('close', () => resolve(heard.includes('[DONE]') ? 'whole' : 'cut'))
      answer.on('error', () => resolve('cut'))
    })
    asking.on('error', () => resolve('cut'))
    asking.end(JSON.stringify({ model: 'gpt-x', stream: true, messages: [{ role: 'user', content: text }] }))
  })

const sessionsOf = async (store: Store): Promise<readonly Session[]> => {
  const all: Session[] = []
  for (const team of teams) {
    const scoped = await ok(async () => store.scoped(team))
    let after: string | undefined
    do {
      const page = await ok(listSessions(scoped, { limit: 1000, ...(after !== undefined && { after }) }))
      for (const { id } of page.sessions) all.push(await ok(openSession(scoped, id)))
      after = page.next
    } while (after !== undefined)
  }
  return all
}

const receiptsOf = (session: Session) => [...session.notes()].filter((note) => note.type === 'receipt')

it.each(stores)(`${streams} streams, killed in the middle, on %s`, async (_, path, open) => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const { port } = provider.address() as AddressInfo
  const [child, url] = await listening(path, port)
  let begun = 0
  const calls = Array.from({ length: streams }, (_, index) =>
    called(url, `${index % 2 === 0 ? 'whole' : 'open'} ${index}`, teams[index % 3] as string, () => begun++),
  )
  const whole = calls.filter((_, index) => index % 2 === 0)
  expect(new Set(await Promise.all(whole))).toEqual(new Set(['whole']))
  await expect.poll(() => begun).toBe(streams)
  // An answer is recorded behind its stream: all of them are there before the kill, and all questions.
  const store = await open()
  const recorded = async (): Promise<readonly number[]> => {
    const sessions = await sessionsOf(store)
    const receipts = sessions.flatMap(receiptsOf)
    for (const session of sessions) await ok(session.close())
    return [sessions.length, receipts.length]
  }
  await expect.poll(recorded, { interval: 200 }).toEqual([streams, whole.length])
  await over(child, 'SIGKILL')
  expect(new Set(await Promise.all(calls.filter((_, index) => index % 2 === 1)))).toEqual(new Set(['cut']))

  // The next one marks what it finds, in each scope that it is asked for.
  const [next, again] = await listening(path, port)
  for (const team of teams) expect(await called(again, `whole again ${team}`, team, () => {})).toBe('whole')
  await over(next, 'SIGTERM')

  const sessions = await sessionsOf(store)
  expect(sessions).toHaveLength(streams + teams.length)
  for (const session of sessions) {
    const [question, ...answers] = [...session.conversation()].map((message) => textOf(message as Message))
    const receipts = receiptsOf(session)
    expect(receipts).toHaveLength(1)
    const [receipt] = receipts
    if (receipt === undefined) continue
    expect(answers).toEqual(question?.startsWith('whole') === true ? ['first and last'] : [])
    expect(detailsOf(receipt, session)?.error).toBe(
      answers.length > 0 ? undefined : 'the recorder was killed before the answer was recorded',
    )
    const sent = await sentMessages(store, session, receipt)
    expect(sent.map((message) => textOf(message as Message))).toEqual([question])
  }
  for (const team of teams) {
    const scoped = await ok(async () => store.scoped(team))
    const { sessions: some } = await ok(listSessions(scoped, { limit: 5 }))
    for (const { id } of some) await ok(verifySession(scoped, id))
  }
  await store.close()
  await new Promise((resolve) => {
    provider.close(resolve)
    provider.closeAllConnections()
  })
})
