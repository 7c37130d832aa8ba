/**
 * The Claude Agent SDK's own program against a provider on loopback: a first turn, its local files removed, a second turn
 * resumed from the store. Prints what was seen, as JSON.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  foldSessionSummary,
  getSessionMessages,
  importSessionToStore,
  listSessions,
  query,
} from '@anthropic-ai/claude-agent-sdk'
import { claudeSessionStore } from '@indelible/claude-agent'
import { orThrow, verifySession } from '../../src/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

interface ReceivedRequest {
  readonly model: string
  readonly stream?: boolean
  readonly messages: readonly unknown[]
}
const asked: ReceivedRequest[] = []

const answer = (response: ServerResponse, { model, messages, stream }: ReceivedRequest): void => {
  const text = `answer ${asked.length} to ${messages.length} messages`
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: `msg_${asked.length}`, type: 'message', role: 'assistant', model, stop_sequence: null, usage }
  if (stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ ...message, content: [{ type: 'text', text }], stop_reason: 'end_turn' }))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ])
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
}

const server = createServer((request, response) => {
  let body = ''
  request.on('data', (piece: Buffer) => (body += piece.toString()))
  request.on('end', () => {
    if (request.url?.startsWith('/v1/messages') !== true || request.url.includes('count_tokens'))
      return void response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":1}')
    const read = JSON.parse(body) as ReceivedRequest
    asked.push(read)
    answer(response, read)
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo

const folder = mkdtempSync(join(tmpdir(), 'indelible-claude-'))
const [home, cwd] = [mkdtempSync(join(folder, 'home-')), mkdtempSync(join(folder, 'work-'))]
const config = join(home, '.claude')
const store = await orThrow(sqliteStore({ path: join(folder, 'sessions.db') }))
const sessionStore = claudeSessionStore(store, { fold: foldSessionSummary })
const sdkStore: NonNullable<NonNullable<Parameters<typeof query>[0]['options']>['sessionStore']> = sessionStore // it is one

const talk = async (prompt: string, resume?: string): Promise<{ id: string; result: string; errors: number }> => {
  const seen = { id: '', result: '', errors: 0 }
  for await (const message of query({
    prompt,
    options: {
      cwd,
      ...(resume !== undefined && { resume }),
      sessionStore: sdkStore,
      settingSources: [],
      tools: [],
      env: {
        PATH: process.env['PATH'],
        HOME: home,
        CLAUDE_CONFIG_DIR: config,
        ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
        ANTHROPIC_API_KEY: 'none',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
      },
    },
  })) {
    const { session_id, type, subtype, result } = message as unknown as { readonly [field: string]: string | undefined }
    seen.id = session_id ?? seen.id
    if (type === 'result') seen.result = result ?? ''
    if (subtype === 'mirror_error') seen.errors += 1
  }
  return seen
}

try {
  const first = await talk('Remember the word heron.')
  // What the SDK brings along from the program's own files is what it mirrored.
  process.env['CLAUDE_CONFIG_DIR'] = config
  const projectKey = 'imported'
  const other = claudeSessionStore(store)
  await importSessionToStore(first.id, {
    append: (key, entries) => other.append({ ...key, projectKey }, entries),
    load: (key) => other.load({ ...key, projectKey }),
  })
  rmSync(home, { recursive: true, force: true })
  const isGone = !existsSync(home)
  const second = await talk('Which word?', first.id)
  const listed = await listSessions({ sessionStore: sdkStore, dir: cwd })
  const [key] = (await store.list({ where: { 'claude-agent': { sessionId: first.id, subpath: null } } })).logs.flatMap(
    ({ meta }) =>
      [meta['claude-agent'] as unknown as { projectKey: string }].filter((mark) => mark.projectKey !== projectKey),
  )
  const own = { projectKey: key?.projectKey ?? '', sessionId: first.id }
  const read = await sessionStore.readSession(own)
  const imported = (await other.load({ projectKey, sessionId: first.id })) ?? []
  const ids = new Set((await sessionStore.load(own))?.map(({ uuid }) => uuid))
  process.stdout.write(
    JSON.stringify({
      first,
      second,
      isGone,
      remembered: JSON.stringify(asked.at(-1)?.messages).includes('heron'),
      listed: listed.map(({ sessionId, firstPrompt }) => [sessionId === first.id, firstPrompt]),
      messages: (await getSessionMessages(first.id, { sessionStore: sdkStore, dir: cwd })).map(({ type }) => type),
      roles: read?.transcript.messages
        .map(({ role }) => role)
        .filter((role) => role === 'user' || role === 'assistant'),
      missing: read?.missing,
      damage: read?.transcript.damage.length,
      imported: imported.length > 0 && imported.every(({ uuid }) => uuid === undefined || ids.has(uuid)),
      verified: (await verifySession(store, sessionStore.idOf(own))).id.length > 0,
    }),
  )
} finally {
  server.close()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
