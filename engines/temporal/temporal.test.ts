/** The chat on a real Temporal server, with workers that are killed. */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import {
  Client,
  Connection,
  WorkflowFailedError,
  type WorkflowHandle,
  type WorkflowHandleWithFirstExecutionRunId,
} from '@temporalio/client'
import { temporal } from '@temporalio/proto'
import { bundleWorkflowCode, Worker } from '@temporalio/worker'
import { assistant, textOf, toolCall, user } from 'indelible/message'
import { eventsInStore, historyActivities, type ChatState } from '@indelible/workflows/activities'
import {
  createRefHistory,
  growRefTree,
  hydrate,
  parseHistoryJson,
  type RefHistoryJson,
} from '@indelible/workflows/refs'
import { sqliteStore } from 'indelible/store/sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it as always } from 'vitest'
import { controlServer, type Control } from '../../packages/workflows/test/engines/control.ts'
import { chat, chatSignal, chatStatus, step } from './workflow.ts'

const binary = process.env['TEMPORAL_SERVER'] // undefined: `run.ts` has said that it is left out
const it = always.skipIf(binary === undefined)
const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'indelible-temporal-'))
const bundle = join(folder, 'workflow.js')
const model = { name: 'gpt-x' }

const { History } = temporal.api.history.v1

let server: ChildProcess
let client: Client
let env: { readonly ADDRESS: string; readonly NAMESPACE: string }
const warnings: string[] = []
let ownBytes = 0

beforeAll(async () => {
  if (binary === undefined) return
  server = spawn(binary, { stdio: ['pipe', 'pipe', 'inherit'] })
  const said = JSON.parse(await firstLine(server)) as { readonly address: string; readonly namespace: string }
  env = { ADDRESS: said.address, NAMESPACE: said.namespace }
  const connection = await Connection.connect({ address: said.address })
  client = new Client({ connection, namespace: said.namespace })
  const warn = (message: string): void => void warnings.push(message)
  const quiet = (): void => undefined
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(here, 'workflow.ts'),
    logger: { log: quiet, trace: quiet, debug: quiet, info: quiet, warn, error: warn },
  })
  writeFileSync(bundle, code)
  ownBytes = code
    .split(/\n\/\*{3}\/ "/)
    .filter((module) => module.startsWith('../dist/'))
    .reduce((sum, { length }) => sum + length, 0)
})
afterAll(async () => {
  await client?.connection.close()
  server?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

interface Place {
  readonly control: Control
  readonly path: string
  readonly queue: string
  readonly workers: ChildProcess[]
}
let place: Place
let count = 0
beforeEach(async () => {
  place = { control: await controlServer(), path: join(folder, `${++count}.db`), queue: `queue-${count}`, workers: [] }
})
afterEach(async () => {
  for (const worker of place.workers) worker.kill('SIGKILL')
  await place.control.close()
})

const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).once('line', resolve)
    child.once('exit', (code) => reject(new Error(`it ended with ${code} before it said anything`)))
  })

const startWorker = async (): Promise<ChildProcess> => {
  const worker = spawn(process.execPath, [join(here, 'worker.ts')], {
    env: { ...process.env, ...env, STORE: place.path, CONTROL: place.control.url, BUNDLE: bundle, QUEUE: place.queue },
    stdio: ['ignore', 'pipe', process.env['INDELIBLE_LOUD'] === undefined ? 'ignore' : 'inherit'],
  })
  place.workers.push(worker)
  expect(await firstLine(worker)).toBe('ready')
  return worker
}

const kill = async (worker: ChildProcess): Promise<void> => {
  const gone = new Promise((resolve) => worker.once('exit', resolve))
  worker.kill('SIGKILL')
  await gone
}

/** A test that is tried again needs workflows of its own. */
const used = new Map<string, number>()
const idOf = (name: string): string => {
  const times = (used.get(name) ?? 0) + 1
  used.set(name, times)
  return times === 1 ? name : `${name}-${times}`
}

type ChatHandle = WorkflowHandleWithFirstExecutionRunId<typeof chat>
type Settings = Parameters<typeof chat>[0]

const startChat = (name: string, settings: Partial<Settings> = {}, state?: ChatState): Promise<ChatHandle> =>
  client.workflow.start(chat, {
    workflowId: idOf(name),
    taskQueue: place.queue,
    args: state === undefined ? [{ model, ...settings }] : [{ model, ...settings }, state],
  })

/** What the ids of a chat's actions begin with: a workflow id may be used again, and a run's id may not. */
const actionsOf = ({ workflowId, firstExecutionRunId }: ChatHandle): string => `${workflowId}/${firstExecutionRunId}`

const storeMessage = async (text: string) => {
  const store = await sqliteStore({ path: place.path })
  const { ref } = await historyActivities({ store, registry: {} }).appendMessage({ action: text, message: user(text) })
  await store.close()
  return ref
}
const say = async (handle: ChatHandle, text: string): Promise<void> =>
  handle.signal(chatSignal, { type: 'message', ref: await storeMessage(text) })

/** The conversation, once the chat has ended: `role: text`. */
const conversationTexts = async (history: RefHistoryJson): Promise<readonly string[]> => {
  const store = await sqliteStore({ path: place.path })
  const parsed = parseHistoryJson(history)
  if (parsed._tag === 'Left' || parsed.right.kind !== 'refs') throw new Error('no refs')
  const view = (await hydrate(store, parsed.right.history)).view()
  const texts = view.toArray().map((message) => `${message.role}: ${textOf(message)}`)
  await store.close()
  return texts
}

/** How each step of a chat ended, as a reader is told it. */
const ends = async (id: string, expected: number): Promise<readonly string[]> => {
  const store = await sqliteStore({ path: place.path })
  const output: string[] = []
  for await (const { event } of eventsInStore(store).read(id)) {
    if (event.type === 'stream_end') output.push(`${event.action} ${event.outcome}`)
    if (output.length === expected) break
  }
  await store.close()
  return output
}

const until = async (
  handle: ChatHandle,
  holds: (status: Awaited<ReturnType<typeof statusOf>>) => boolean,
): Promise<void> => {
  while (!holds(await statusOf(handle))) await new Promise((resolve) => setTimeout(resolve, 50))
}
const statusOf = (handle: ChatHandle) => handle.query(chatStatus)

/** What the engine has of a workflow. No content may be in it; recorded, it is replayed by later versions. */
const recorded = async (handle: WorkflowHandle, name: string): Promise<string> => {
  const history = await handle.fetchHistory()
  const file = join(here, 'histories', `${name}.binpb`)
  if (process.env['INDELIBLE_RECORD'] !== undefined) {
    mkdirSync(join(here, 'histories'), { recursive: true })
    writeFileSync(file, History.encode(withoutStacks(history)).finish())
  }
  await Worker.runReplayHistory({ workflowBundle: { codePath: bundle } }, history, handle.workflowId)
  const payloads = payloadsOf(history)
  const all = payloads.join('\n') + Buffer.from(History.encode(history).finish()).toString()
  expect(all).not.toContain('SECRET')
  expect(Math.max(...payloads.map(({ length }) => length))).toBeLessThan(10_000)
  return all
}

/** A fixture says nothing of the machine that it was recorded on. */
const withoutStacks = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  if (Array.isArray(value)) return value.map((item: unknown) => withoutStacks(item)) as T
  const copy = Object.assign(Object.create(Object.getPrototypeOf(value) as object), value) as Record<string, unknown>
  for (const [name, field] of Object.entries(copy))
    copy[name] = name === 'stackTrace' ? '' : name === 'identity' ? 'a worker' : withoutStacks(field)
  return copy as T
}

/** Every payload in it, as text. */
const payloadsOf = (value: unknown): readonly string[] => {
  if (value instanceof Uint8Array) return [Buffer.from(value).toString()]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(payloadsOf) : []
}

it('a Temporal chat survives kill -9 during a stream and a tool, and emits each end once', async () => {
  const { control } = place
  const first = await startWorker()
  const handle = await startChat('killed')
  control.say({ line: assistant('SECRET one two', toolCall('c1', 'lookup', { path: 'SECRET' })), hold: true })
  await say(handle, 'SECRET question')
  await control.held('model')
  await kill(first)
  const second = await startWorker()
  control.say({ line: assistant('SECRET one two', toolCall('c1', 'lookup', { path: 'SECRET' })) })
  await control.held('tool')
  await kill(second)
  await startWorker()
  ;(await control.held('tool')).release('SECRET found')
  control.say({ line: assistant('SECRET done') })
  await handle.signal(chatSignal, { type: 'end' })
  const { history } = await handle.result()
  expect(await conversationTexts(history)).toEqual([
    'user: SECRET question',
    'assistant: SECRET one two',
    'tool: SECRET found',
    'assistant: SECRET done',
  ])
  expect(await ends(handle.workflowId, 2)).toEqual([
    `${actionsOf(handle)}/1.1 answered`,
    `${actionsOf(handle)}/1.2 answered`,
  ])
  await recorded(handle, 'killed')
})

it('a Temporal chat queues signals during a stream and a tool after what the model saw, and answers queries', async () => {
  const { control } = place
  await startWorker()
  const handle = await startChat('signals')
  control.say({ line: assistant('calling now', toolCall('c1', 'lookup', {})), hold: true })
  await say(handle, 'question')
  const stream = await control.held('model')
  await say(handle, 'during the stream')
  await until(handle, ({ inbox }) => inbox === 1)
  expect(await statusOf(handle)).toMatchObject({ phase: 'model', turn: 1, len: 1, inbox: 1 })
  stream.release()
  const tool = await control.held('tool')
  await say(handle, 'during the tool')
  await until(handle, ({ inbox }) => inbox === 2)
  expect(await statusOf(handle)).toMatchObject({ phase: 'tools', len: 2 })
  tool.release('found')
  control.say({ line: assistant('done') })
  await handle.signal(chatSignal, { type: 'end' })
  const { history } = await handle.result()
  const texts = [
    'user: question',
    'assistant: calling now',
    'tool: found',
    'user: during the stream',
    'user: during the tool',
  ]
  expect(await conversationTexts(history)).toEqual([...texts, 'assistant: done'])
  expect(control.requests.map(({ length }) => length)).toEqual([1, 5])
  await recorded(handle, 'signals')
})

it('a Temporal chat waits for an approval, and a stop ends the turn but not the chat', async () => {
  const { control } = place
  await startWorker()
  const handle = await startChat('approval', { gated: 'dangerous' })
  control.say({ line: assistant('may I', toolCall('c1', 'dangerous', {}), toolCall('c2', 'dangerous', {})) })
  await say(handle, 'do it')
  await until(handle, ({ waiting }) => waiting.length === 2)
  expect((await statusOf(handle)).waiting).toEqual([
    { id: 'c1', name: 'dangerous' },
    { id: 'c2', name: 'dangerous' },
  ])
  await handle.signal(chatSignal, { type: 'approval', callId: 'c2', allowed: false, reason: 'never that' })
  await handle.signal(chatSignal, { type: 'approval', callId: 'c1', allowed: true })
  ;(await control.held('tool')).release('it is done')
  control.say({ line: assistant('a long answer that nobody wants'), hold: true })
  await control.held('model')
  await handle.signal(chatSignal, { type: 'stop' })
  await until(handle, ({ phase }) => phase === 'idle')
  control.say({ line: assistant('sure') })
  await say(handle, 'something else')
  await handle.signal(chatSignal, { type: 'end' })
  const { history } = await handle.result()
  expect((await conversationTexts(history)).map((text) => text.split(':')[0])).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'user',
    'assistant',
  ])
  expect(await ends(handle.workflowId, 3)).toEqual([
    `${actionsOf(handle)}/1.1 answered`,
    `${actionsOf(handle)}/1.2 cancelled`,
    `${actionsOf(handle)}/2.1 answered`,
  ])
  await recorded(handle, 'approval')
})

it("a Temporal chat retries a 503 after the provider's delay", async () => {
  const { control } = place
  await startWorker()
  const handle = await startChat('overloaded')
  control.say({ status: 503 }, { status: 429, headers: { 'retry-after': '2' } }, { line: assistant('at last') })
  await say(handle, 'question')
  await handle.signal(chatSignal, { type: 'end' })
  const { history } = await handle.result()
  expect(await conversationTexts(history)).toEqual(['user: question', 'assistant: at last'])
  const [, second = 0, third = 0] = control.asked
  expect(third - second).toBeGreaterThanOrEqual(1900)
  expect(await ends(handle.workflowId, 1)).toEqual([`${actionsOf(handle)}/1.1 answered`])
})

it("a Temporal workflow gets a permanent failure's cause at the first attempt", async () => {
  const { control } = place
  await startWorker()
  control.say({ status: 401 })
  const ref = await storeMessage('SECRET question')
  for (const [workflowId, wanted, type, tag, status] of [
    ['refused', model, 'PermanentFailure', 'ModelFailed', 401],
    ['unknown', { name: 'x', type: 'nonsense' }, 'PermanentFailure', 'UnknownModelType', null],
  ] as const) {
    const handle = await client.workflow.start(step, {
      workflowId: idOf(workflowId),
      taskQueue: place.queue,
      args: [wanted, ref],
    })
    const error: unknown = await handle.result().catch((thrown: unknown) => thrown)
    if (!(error instanceof WorkflowFailedError)) throw error
    const cause = (error.cause as Error).cause
    expect(cause).toMatchObject({ type, nonRetryable: true, details: [{ tag, status }] })
    const all = await recorded(handle, workflowId)
    expect(all).toContain(tag)
  }
  expect(control.asked.length).toBe(1)
  // A chat shows it, and goes on.
  const handle = await startChat('goes-on')
  control.say({ status: 400 })
  await say(handle, 'question')
  await until(handle, ({ failure }) => failure !== undefined)
  expect((await statusOf(handle)).failure).toBe('ModelFailed: remote failed with HTTP 400')
  control.say({ line: assistant('better') })
  await say(handle, 'again')
  await handle.signal(chatSignal, { type: 'end' })
  expect((await conversationTexts((await handle.result()).history)).at(-1)).toBe('assistant: better')
})

it('a Temporal chat cancelled between two attempts emits one end', async () => {
  const { control } = place
  await startWorker()
  const handle = await startChat('cancelled')
  control.say({ status: 429, headers: { 'retry-after': '600' } })
  await say(handle, 'question')
  // The first attempt has failed, and the next is far away.
  while ((await handle.describe()).raw.pendingActivities?.[0]?.attempt !== 2)
    await new Promise((resolve) => setTimeout(resolve, 50))
  await handle.cancel()
  await expect(handle.result()).rejects.toThrow('Workflow execution cancelled')
  expect(await ends(handle.workflowId, 1)).toEqual([`${actionsOf(handle)}/1.1 failed`])
  await recorded(handle, 'cancelled')
})

it('a Temporal chat continues as new at the given size, also with 20,000 messages', async () => {
  const { control } = place
  await startWorker()
  const handle = await startChat('long', { continueAt: { calls: 1 } })
  for (const turn of [1, 2, 3]) {
    control.say({ line: assistant(`answer ${turn}`) })
    await say(handle, `question ${turn}`)
    await until(handle, (status) => status.turn === turn && status.phase === 'idle')
  }
  await handle.signal(chatSignal, { type: 'end' })
  const { history } = await handle.result()
  expect((await conversationTexts(history)).length).toBe(6)
  const runs = []
  for await (const run of client.workflow.list({ query: `WorkflowId = '${handle.workflowId}'` }))
    runs.push(run.status.name)
  expect(runs.length).toBeGreaterThan(2)

  // A list of 25,000 refs is more than Temporal takes in one payload (2 MB); a reference to it is not.
  const store = await sqliteStore({ path: place.path })
  const ref = await storeMessage('same')
  const refs = Array.from({ length: 20_000 }, () => ref)
  const tree = await growRefTree(store, undefined, refs)
  await store.close()
  const whole = createRefHistory({ from: [...refs, ...refs.slice(0, 5000)] }).toJSON()
  await expect(startChat('too-large', {}, { history: whole, turn: 0 })).rejects.toThrow()
  const reference: RefHistoryJson = {
    type: 'indelible.refs',
    version: 2,
    scope: 'default',
    refs: [],
    ...(tree && { tree }),
  }
  const large = await startChat('large', { limit: { maxChars: 1000 } } as object, { history: reference, turn: 0 })
  control.say({ line: assistant('still here') })
  await say(large, 'are you?')
  await large.signal(chatSignal, { type: 'end' })
  const end = await large.result()
  expect(end.history.tree?.len).toBe(20_001)
  expect((await conversationTexts(end.history)).at(-1)).toBe('assistant: still here')
  await recorded(large, 'large')
})

it('the Temporal bundle has no warnings and under 300 kB of our own', () => {
  expect(warnings).toEqual([])
  expect(ownBytes).toBeGreaterThan(50_000)
  expect(ownBytes).toBeLessThan(300_000)
})

it('every recorded Temporal history replays', async () => {
  const histories = join(here, 'histories')
  const files = existsSync(histories) ? readdirSync(histories) : []
  expect(files.length).toBeGreaterThan(4)
  for (const file of files) {
    const history = History.decode(readFileSync(join(histories, file)))
    await Worker.runReplayHistory({ workflowBundle: { codePath: bundle } }, history, file.replace('.binpb', ''))
  }
})
