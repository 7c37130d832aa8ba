/** Blocks and actions in a real Redis: the contract of key-value stores, and exactly one answer with nothing else. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, RESP_TYPES } from 'redis'
import { assistant, user } from 'indelible/message'
import { historyActivities, type StreamEvent } from '@indelible/workflows/activities'
import { createPendingHistory, persist } from '@indelible/workflows/refs'
import { scriptedModel } from 'indelible/run'
import { keyValueBlocks, type KeyValueStore } from 'indelible/store'
import { keyValueContract } from '@indelible/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const there = spawnSync('redis-server', ['--version']).status === 0 // otherwise `run.ts` has said that it is left out

const open = (port: number) =>
  createClient({ url: `redis://127.0.0.1:${port}` }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })

/** A Redis as a key-value store: what docs/workflows.md shows. */
const redisStore = (redis: ReturnType<typeof open>): Required<KeyValueStore> => {
  const keys = async function* (prefix: string): AsyncGenerator<string> {
    const MATCH = `${prefix.replaceAll(/[\\*?[\]]/g, String.raw`\$&`)}*`
    for await (const found of redis.scanIterator({ MATCH, COUNT: 1000 })) yield* found.map(String)
  }
  return {
    mget: async (keys) => (keys.length === 0 ? [] : redis.mGet([...keys])),
    mset: async (entries) => {
      if (entries.length > 0)
        await redis.mSet(entries.map(([key, value]): [string, Buffer] => [key, Buffer.from(value)]))
    },
    putIfAbsent: async (key, value) => (await redis.set(key, Buffer.from(value), { condition: 'NX' })) !== null,
    keys,
    deletePrefix: async (prefix) => {
      for await (const key of keys(prefix)) await redis.unlink(key)
    },
  }
}

describe.skipIf(!there)('actions in Redis', () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-redis-'))
  let server: ChildProcess
  let port: number
  let redis: ReturnType<typeof open>
  beforeAll(async () => {
    const probe = createServer()
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
    port = (probe.address() as AddressInfo).port
    await new Promise((resolve) => probe.close(resolve))
    server = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder], {
      stdio: 'ignore',
    })
    redis = open(port)
    redis.on('error', () => undefined) // it is starting
    await redis.connect()
  })
  afterAll(async () => {
    redis?.destroy()
    server?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  let place = 0
  /** The cases make a store each, empty at first: a prefix of its own is one. */
  const withPrefix = (prefix: string, all: Required<KeyValueStore>): Required<KeyValueStore> => ({
    mget: (keys) => all.mget(keys.map((key) => prefix + key)),
    mset: (entries) => all.mset(entries.map(([key, value]) => [prefix + key, value] as const)),
    putIfAbsent: (key, value) => all.putIfAbsent(prefix + key, value),
    keys: async function* (start) {
      for await (const key of all.keys(prefix + start)) yield key.slice(prefix.length)
    },
    deletePrefix: (start) => all.deletePrefix(prefix + start),
  })
  for (const { name, run } of keyValueContract('redis', async () => ({
    store: withPrefix(`place-${place++}:`, redisStore(redis)),
  })))
    it(name, run)

  it('give exactly one answer and one end to workers that share nothing else', async () => {
    const others = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const other = open(port)
        await other.connect()
        return other
      }),
    )
    const events: StreamEvent[] = []
    let calls = 0
    const worker = (client: ReturnType<typeof open>) =>
      historyActivities({
        store: keyValueBlocks(redisStore(client), { prefix: 'chat' }),
        registry: { openai: { apiKey: 'k', model: () => scriptedModel([assistant(`answer ${++calls}`)]) } },
        events: { publish: (event) => void events.push(event) },
      })
    const store = keyValueBlocks(redisStore(redis), { prefix: 'chat' })
    const history = (await persist(store, createPendingHistory({ from: [user('hello')] }))).toJSON()
    const input = { action: 'a', model: { name: 'gpt-x' }, history }
    const answers = await Promise.all(others.map((other) => worker(other).stream(input)))
    const again = await worker(redis).stream(input) // the answer was lost on the way
    expect(new Set([...answers, again].map(({ ref }) => JSON.stringify(ref))).size).toBe(1)
    expect(events.filter(({ type }) => type === 'stream_end').length).toBe(1)
    for (const other of others) other.destroy()
  })
})
