/**
 * The recorder under load: chunks a second through the proxy beside the same proxy without a recorder, and memory over
 * many calls. `node --expose-gc recorder-flow.ts`
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRecorder, type Recorder } from '@indelible/recorder'
import { startProxy, type Proxy } from '@indelible/recorder/proxy'
import { sqliteStore } from 'indelible/store/sqlite'

const event = (delta: object, reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`

/** Sends `rate` chunks a second for each `chunks` that a request asks for, by a timer; 0: as fast as they go. */
const provider = async (): Promise<number> => {
  const server = createServer((incoming, outgoing) => {
    let body = ''
    incoming.on('data', (piece) => (body += String(piece)))
    incoming.on('end', () => {
      const { chunks, rate } = JSON.parse(body) as { readonly chunks: number; readonly rate: number }
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      stream(outgoing, chunks, rate)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const stream = (outgoing: ServerResponse, chunks: number, rate: number): void => {
  const began = performance.now()
  let sent = 0
  const more = (): void => {
    const due = rate === 0 ? chunks : Math.min(chunks, Math.floor(((performance.now() - began) * rate) / 1000))
    while (sent < due) {
      if (!outgoing.write(event({ content: `word${sent++} ` })) && rate === 0) return void outgoing.once('drain', more)
    }
    if (sent < chunks) setTimeout(more, 1)
    else outgoing.end(`${event({}, 'stop')}data: [DONE]\n\n`)
  }
  more()
}

if (process.send !== undefined) process.send(await provider())
else {
  // In a process of its own, so that it takes no time of the proxy's.
  const child = fork(import.meta.filename)
  const port = await new Promise<number>((resolve) => child.once('message', (found) => resolve(Number(found))))
  const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
  const proxied = (recorder: Recorder | undefined): Promise<Proxy> =>
    startProxy({
      host: '127.0.0.1',
      port: 0,
      token: '',
      upstreams: [{ name: 'openai', url: `http://127.0.0.1:${port}/v1` }],
      recorderOf: () => recorder,
    })

  /** Milliseconds until a call has ended. */
  const called = (proxy: Proxy, body: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const began = performance.now()
      const asking = request(`${proxy.urlOf('openai')}/chat/completions`, { method: 'POST' }, (answer) => {
        answer.resume().on('end', () => resolve(performance.now() - began))
      })
      asking.on('error', reject)
      asking.end(JSON.stringify(body))
    })

  const store = await sqliteStore({ path: join(folder, 'flow.db') })
  const recorder = createRecorder({ store, onNotice: ({ reason }) => console.error(reason) })
  const [plain, recording] = [await proxied(undefined), await proxied(recorder)]
  const body = (id: number, chunks: number, rate: number): object => ({
    model: 'm',
    stream: true,
    chunks,
    rate,
    messages: [{ role: 'user', content: `question ${id}` }],
  })

  let id = 0
  console.log('| streams | chunks a second, offered | delivered without | with |')
  console.log('|---:|---:|---:|---:|')
  for (const [streams, rate] of [
    [1, 10_000],
    [10, 1_000],
    [100, 100],
    [1, 0],
  ] as const) {
    const perSecond = async (proxy: Proxy): Promise<number> => {
      const chunks = rate === 0 ? 100_000 : rate * 2
      const began = performance.now()
      await Promise.all(Array.from({ length: streams }, () => called(proxy, body(id++, chunks, rate))))
      return (streams * chunks * 1000) / (performance.now() - began)
    }
    const [without, having]: [number[], number[]] = [[], []]
    for (let round = 0; round < 3; round++) {
      without.push(await perSecond(plain))
      having.push(await perSecond(recording))
      await recorder.settled()
    }
    const median = (values: readonly number[]): string =>
      Math.round(values.toSorted((a, b) => a - b)[1] ?? 0).toLocaleString('en')
    const offered = rate === 0 ? 'all' : (streams * rate).toLocaleString('en')
    console.log(`| ${streams} | ${offered} | ${median(without)} | ${median(having)} |`)
  }

  const calls = Number(process.argv[2] ?? 10_000)
  console.log('\n| calls | heap, MB | external, MB | resident, MB |')
  console.log('|---:|---:|---:|---:|')
  const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
  for (let done = 0; done <= calls; done++) {
    if (done > 0) await called(recording, body(id++, 20, 0))
    if (![0, 0.1, 0.25, 0.5, 0.75, 1].some((part) => done === calls * part)) continue
    await recorder.settled()
    globalThis.gc?.()
    const { heapUsed, external, rss } = process.memoryUsage()
    console.log(`| ${done.toLocaleString('en')} | ${mb(heapUsed)} | ${mb(external)} | ${mb(rss)} |`)
  }
  await plain.close()
  await recording.close()
  await store.close()
  child.kill()
  rmSync(folder, { recursive: true })
}
