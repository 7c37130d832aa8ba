/**
 * `indelible record --listen`, killed: the next one records every call that was forwarded, from the spool. Many streams at once,
 * killed in the middle, at full size a thousand, on PostgreSQL, too; and kills at any moment, at full size a thousand.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { listSessions, openSession, textOf, verifySession, type Message, type Session, type Store } from 'indelible'
import { hostKeyOf, hostKeyText, keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { detailsOf, sentMessages } from '@indelible/recorder'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { ok } from '../../../test/task-results.ts'
import { startPostgres } from '../../postgres/test/postgres-server.ts'
import { indelible, main } from './indelible.ts'
import { rounds } from '../../../test/rounds.ts'

const streams = rounds(6, 1000)
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
          () => ok(postgresStore({ timeout: 600_000, connectionString: server.url, schema: 'record_kill' })),
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
const listening = (
  store: string,
  upstream: number,
  ...more: readonly string[]
): Promise<readonly [child: ChildProcess, url: string]> =>
  new Promise((resolve, reject) => {
    const args = ['--listen', '127.0.0.1:0', '--scope-header', 'x-team', '--store', store]
    const to = ['--upstream', `openai=http://127.0.0.1:${upstream}/v1`]
    const env = { ...process.env, XDG_DATA_HOME: folder } // where spools of a database are
    const child = spawn(process.execPath, [main, 'record', ...args, ...to, ...more], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    child.stdout.on('data', (chunk) => {
      const url = /^(http:\S+\/openai) /m.exec((output += String(chunk)))?.[1]
      if (url !== undefined) resolve([child, url])
    })
    child.on('exit', () => reject(new Error(output)))
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

it.each(stores)(`${streams} streams killed in the middle are recorded, on %s`, async (_, path, open) => {
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
  await over(child, 'SIGKILL')
  expect(new Set(await Promise.all(calls.filter((_, index) => index % 2 === 1)))).toEqual(new Set(['cut']))

  // The next one records what is left.
  const [next, again] = await listening(path, port)
  for (const team of teams) expect(await called(again, `whole again ${team}`, team, () => {})).toBe('whole')
  await over(next, 'SIGTERM')

  const store = await open()
  // A kill between a session and its first message leaves it empty.
  const sessions = (await sessionsOf(store)).filter((session) => session.len > 0)
  expect(sessions).toHaveLength(streams + teams.length)
  for (const session of sessions) {
    const [question, ...answers] = [...session.conversation()].map((message) => textOf(message as Message))
    const receipts = receiptsOf(session)
    expect(receipts).toHaveLength(1)
    const [receipt] = receipts
    if (receipt === undefined) continue
    const isWhole = question?.startsWith('whole') === true
    expect(answers).toEqual([isWhole ? 'first and last' : 'first '])
    const details = detailsOf(receipt, session)
    expect([details?.error, details?.cut]).toEqual(
      isWhole ? [undefined, undefined] : ['the recorder was killed before the answer was whole', true],
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

/** Numbers that look random, the same in each run. */
const randomOf = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}

it.each([['plain', []] as const, ['encrypted', ['--key-file', join(folder, 'keys')]] as const])(
  'a recorder killed repeatedly records each forwarded call once, %s',
  async (name, more) => {
    const path = join(folder, `${name}.db`)
    const random = randomOf(name.length)
    const forwarded = new Set<string>()
    const [whole, secret] = [new Set<string>(), 'a text to look for']
    const provider = createServer((incoming, outgoing) => {
      let body = ''
      incoming.on('data', (chunk) => (body += String(chunk)))
      incoming.on('end', () => {
        const { messages } = JSON.parse(body) as { readonly messages: readonly { readonly content: string }[] }
        const { content = '' } = messages.at(-1) ?? {}
        forwarded.add(content)
        if (content.startsWith('json')) {
          const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: `to ${content}` } }
          outgoing.writeHead(200, { 'content-type': 'application/json' })
          outgoing.end(JSON.stringify({ id: 'c', model: 'gpt-x', choices: [choice] }))
          return
        }
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
        const pieces = ['to ', content.slice(0, 3), content.slice(3)].map((piece) => event({ content: piece }))
        const next = (): void => {
          const piece = pieces.shift()
          if (piece === undefined) return void outgoing.end(`${event({}, 'stop')}data: [DONE]\n\n`)
          outgoing.write(piece)
          setTimeout(next, 2)
        }
        next()
      })
    })
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
    const { port } = provider.address() as AddressInfo
    if (name === 'encrypted') writeFileSync(join(folder, 'keys'), `${hostKeyText(newHostKey())}\n`, { mode: 0o600 })
    const output: string[] = []
    for (let round = 0; round < rounds(1, name === 'plain' ? 1000 : 50); round++) {
      const [child, url] = await listening(path, port, ...more)
      child.stderr?.on('data', (chunk) => output.push(String(chunk)))
      const killed = new AbortController()
      // Conversations of up to three questions, several at once: until the kill.
      const talking = Array.from({ length: 4 }, async (_, index) => {
        const messages: { readonly role: string; readonly content: string }[] = []
        for (let turn = 0; turn < 200 && !killed.signal.aborted; turn++) {
          if (turn % 3 === 0) messages.length = 0
          const content = `${turn % 2 === 0 ? 'json' : 'text'} ${round}-${index}-${turn} ${secret}`
          messages.push({ role: 'user', content })
          const heard = await askProxy(url, JSON.stringify({ model: 'gpt-x', stream: true, messages }))
          if (heard === undefined) return
          whole.add(content)
          messages.push({ role: 'assistant', content: `to ${content}` })
        }
      })
      const before = forwarded.size
      if (round % 4 !== 3) await expect.poll(() => forwarded.size, { interval: 1 }).toBeGreaterThan(before)
      await new Promise((resolve) => setTimeout(resolve, Math.floor(random() * 200)))
      await over(child, 'SIGKILL')
      killed.abort()
      await Promise.all(talking)
      for (const file of readdirSync(folder).filter((one) => one.startsWith(`${name}.db-spool-`))) {
        expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
        if (name === 'encrypted') expect(readFileSync(join(folder, file)).includes(secret)).toBe(false)
      }
    }
    const last = indelible(['record', '--store', path, ...more, '--', '/bin/sh', '-c', ':'], { env: { XDG_DATA_HOME: folder } }) // oxfmt-ignore
    output.push(last.stderr)
    expect(readdirSync(folder).filter((one) => one.startsWith(`${name}.db-spool-`))).toEqual([])
    expect(forwarded.size).toBeGreaterThan(0)
    expect(output.filter((line) => line.includes('not recorded'))).toEqual([])

    const plain = await ok(sqliteStore({ path }))
    const store =
      name === 'plain' ? plain : withKeys(plain, keyRing([hostKeyOf(readFileSync(join(folder, 'keys'), 'utf8'))]))
    const answers = new Map<string, (string | undefined)[]>()
    for await (const { id } of allSessions(store)) {
      const session = await ok(openSession(store, id))
      for (const receipt of receiptsOf(session)) {
        const sent = await sentMessages(store, session, receipt)
        const question = textOf(sent.at(-1) as Message)
        const details = detailsOf(receipt, session)
        const isWhole = details?.error === undefined && details?.cut === undefined
        const found = [...session.view()].findIndex((message) => textOf(message as Message) === `to ${question}`)
        answers.set(question, [
          ...(answers.get(question) ?? []),
          isWhole && found !== -1 ? `to ${question}` : undefined,
        ])
      }
      await ok(session.close())
    }
    await store.close()
    const wrong = [...forwarded].filter((question) => {
      const found = answers.get(question) ?? []
      return found.length !== 1 || (whole.has(question) && found[0] === undefined)
    })
    expect(wrong.map((question) => [question, answers.get(question)])).toEqual([])
    // A kill between the spool and the provider: what was asked is recorded, once.
    const others = [...answers].filter(([question]) => !forwarded.has(question)).map(([, found]) => found)
    expect(others).toEqual(others.map(() => [undefined]))
    provider.closeAllConnections()
    await new Promise((resolve) => provider.close(resolve))
  },
)

/** One call: what was heard, if it was whole. */
const askProxy = (url: string, body: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const asking = request(`${url}/chat/completions`, { method: 'POST', agent }, (answer) => {
      let heard = ''
      answer.on('data', (chunk) => (heard += String(chunk)))
      answer.on('error', () => resolve(undefined))
      answer.on('end', () => resolve(heard))
    })
    asking.on('error', () => resolve(undefined))
    asking.end(body)
  })

async function* allSessions(store: Store): AsyncGenerator<{ readonly id: string }> {
  let after: string | undefined
  do {
    const page = await ok(listSessions(store, { limit: 1000, ...(after !== undefined && { after }) }))
    yield* page.sessions
    after = page.next
  } while (after !== undefined)
}

it('erasure waits for spooled calls and records those of a killed recorder; --redact spools none', async () => {
  const path = join(folder, 'erased.db')
  const held: ServerResponse[] = []
  const provider = createServer((incoming, outgoing) => {
    incoming.resume().on('end', () => {
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      outgoing.write(event({ role: 'assistant', content: 'heard' }))
      held.push(outgoing)
    })
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const { port } = provider.address() as AddressInfo
  const ask = async (url: string, question: string): Promise<ServerResponse> => {
    const before = held.length
    void askProxy(url, JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: question }] }))
    await expect.poll(() => held.length, { interval: 5 }).toBe(before + 1)
    return held.at(-1) as ServerResponse
  }
  const end = (outgoing: ServerResponse): void => void outgoing.end(`${event({}, 'stop')}data: [DONE]\n\n`)
  const spools = (): readonly string[] => readdirSync(folder).filter((one) => /^erased\.db-spool-.*\d$/.test(one))
  const [first, url] = await listening(path, port)
  end(await ask(url, 'one'))
  const sizes = (): number => spools().reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  await expect.poll(sizes, { interval: 20 }).toBe(0) // it is cut
  const open = await ask(url, 'two')
  const { lines } = indelible(['list', '--json', '--store', path])
  const { id } = JSON.parse(lines[0] as string) as { readonly id: string }
  const erasing = spawn(process.execPath, [main, 'erase', id, '0', '--yes', '--store', path])
  const said = { text: '' }
  for (const stream of [erasing.stdout, erasing.stderr]) stream.on('data', (chunk) => (said.text += String(chunk)))
  const code = new Promise((resolve) => erasing.on('close', resolve))
  await expect.poll(() => said.text, { timeout: 300_000 }).toContain('waiting for a recorder')
  end(open)
  expect(await code).toBe(0)
  expect(said.text).toContain('1 message')

  await ask(url, 'three')
  await over(first, 'SIGKILL')
  expect(sizes()).toBeGreaterThan(0)
  const removed = indelible(['remove', id, '--yes', '--store', path])
  expect(removed.status).toBe(0)
  expect(removed.stdout + removed.stderr).toContain('1 call of a recorder that was killed: recorded')
  expect(spools()).toEqual([])

  const [redacting, another] = await listening(path, port, '--redact')
  await ask(another, 'four')
  expect(spools()).toEqual([])
  await over(redacting, 'SIGTERM')
  provider.closeAllConnections()
  await new Promise((resolve) => provider.close(resolve))
})
