/**
 * Measures `indelible record` in a process of its own, as users run it: the processor time of 100 concurrent streams, and the
 * time to the first byte against a direct call to the same instant provider, for growing conversations and while other
 * clients post huge bodies. On Linux it also prints how long the forwarding thread waited for a processor and how long it
 * ran, because a busy machine changes only the first. Arguments: folders of checkouts, measured in turns (default: this one).
 */
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'

const event = (delta: object, reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`

/** Sends the chunks that a request asks for, 100 a second; none: an answer at once. */
const provider = async (): Promise<number> => {
  const server = createServer((incoming, outgoing) => {
    let body = ''
    incoming.on('data', (piece) => (body += String(piece)))
    incoming.on('end', () => {
      const chunks = Number(/"chunks":(\d+)/.exec(body)?.[1] ?? 0)
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      stream(outgoing, chunks)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

const stream = (outgoing: ServerResponse, chunks: number): void => {
  const began = performance.now()
  let sent = 0
  const more = (): void => {
    const due = Math.min(chunks, Math.floor((performance.now() - began) / 10))
    while (sent < due) outgoing.write(event({ content: `word${sent++} ` }))
    if (sent < chunks) setTimeout(more, 5)
    else outgoing.end(`${event({ content: 'end' })}${event({}, 'stop')}data: [DONE]\n\n`)
  }
  more()
}

if (process.send !== undefined) process.send(await provider())
else {
  const child = fork(import.meta.filename)
  const port = await new Promise<number>((done) => child.once('message', (found) => done(Number(found))))
  const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
  const agent = new Agent({ keepAlive: false })

  const recorder = (
    checkout: string,
    index: number,
  ): Promise<{ readonly process: ChildProcess; readonly url: string }> =>
    new Promise((done, failed) => {
      const store = join(folder, `${index}.db`)
      // Checkouts from before the packages have it elsewhere.
      const places = ['packages/cli/src/main.ts', 'src/cli/main.ts'].map((path) => join(checkout, path))
      const main = places.find((path) => existsSync(path)) ?? ''
      const args = ['record', '--listen', '127.0.0.1:0', '--store', store]
      const to = ['--upstream', `openai=http://127.0.0.1:${port}/v1`]
      const started = spawn(process.execPath, ['--conditions=@indelible/source', main, ...args, ...to])
      started.stderr.pipe(process.stderr)
      started.on('exit', failed)
      started.stdout.on('data', (said) => {
        const url = /^(http:\S+\/openai) /m.exec(String(said))?.[1]
        if (url !== undefined) done({ process: started, url })
      })
    })

  /** Milliseconds that the thread that forwards has used of a processor, and waited for one. */
  const scheduled = (pid: number | undefined): readonly [number, number] => {
    const [used = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number)
    return [used / 1e6, waited / 1e6]
  }
  /** Milliseconds until the first byte of an answer; and until then, of a process that forwards: used of a processor, and waited for one. */
  const called = (url: string, body: string, pid = process.pid): Promise<readonly [number, number, number]> =>
    new Promise((done, failed) => {
      const [used, waited] = scheduled(pid)
      const began = performance.now()
      let figures: readonly [number, number, number] = [0, 0, 0]
      const asking = request(`${url}/chat/completions`, { method: 'POST', agent }, (answer) => {
        answer.once('data', () => {
          const first = performance.now() - began
          const [usedThen, waitedThen] = scheduled(pid)
          figures = [first, usedThen - used, waitedThen - waited]
        })
        answer.resume().on('end', () => done(figures))
      })
      asking.on('error', failed)
      asking.end(body)
    })
  /** A compressed request, and its answer. */
  const posting = (url: string, body: Buffer): Promise<void> =>
    new Promise((done, failed) => {
      const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' }
      const asking = request(`${url}/chat/completions`, { method: 'POST', headers }, (answer) => {
        answer.resume().on('end', () => done())
      })
      asking.on('error', failed)
      asking.end(body)
    })
  const said = (messages: readonly object[], chunks: number): string =>
    JSON.stringify({ model: 'm', stream: true, chunks, messages })
  /** Milliseconds of processor time of a process so far. Linux counts hundredths of a second. */
  const processor = ({ pid }: ChildProcess): number => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  }
  const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

  const checkouts = process.argv.length > 2 ? process.argv.slice(2) : [join(import.meta.dirname, '..')]
  const all = await Promise.all(
    checkouts.map(async (checkout, index) => {
      const { process: started, url } = await recorder(checkout, index)
      return { name: resolve(checkout), process: started, url, flow: [] as number[] }
    }),
  )
  const direct = `http://127.0.0.1:${port}/v1`
  let id = 0
  for (let round = 0; round < 7; round++)
    for (const one of round % 2 === 0 ? all : all.toReversed()) {
      const before = processor(one.process)
      const calls = Array.from({ length: 100 }, () =>
        called(one.url, said([{ role: 'user', content: `q${id++}` }], 300)),
      )
      await Promise.all(calls)
      await new Promise((done) => setTimeout(done, 500)) // what is recorded behind it
      if (round > 0) one.flow.push((processor(one.process) - before) / 30)
    }
  console.log('| checkout | processor time of 1,000 chunks at 100 streams, ms |\n|---|---:|')
  for (const { name, flow } of all) console.log(`| ${name} | ${median(flow).toFixed(1)} |`)

  console.log(
    '\n| checkout | messages | first byte later than direct, ms (median) | 9 of 10 | without its waiting for a processor | processor time until then |\n|---|---:|---:|---:|---:|---:|',
  )
  const words = 'word '.repeat(60)
  for (const messages of [2, 400, 4000]) {
    const late = all.map(() => [] as (readonly [number, number, number])[])
    const history = Array.from({ length: messages - 1 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `${index} ${words}`,
    }))
    for (let turn = 0; turn < 60; turn++) {
      for (const [index, { url, process: childProcess }] of all.entries()) {
        const body = said([...history, { role: 'user', content: `${turn}` }], 0)
        const [without] = await called(direct, body)
        const [having, used, waited] = await called(url, body, childProcess.pid)
        if (turn >= 10) late[index]?.push([having - without, having - without - waited, used])
        await new Promise((done) => setTimeout(done, 100)) // an agent thinks, too
      }
    }
    for (const [index, { name }] of all.entries()) {
      const found = late[index] ?? []
      const [all, net, used] = [0, 1, 2].map((figure) => found.map((one) => one[figure] ?? 0)) as [
        number[],
        number[],
        number[],
      ]
      const most = all.toSorted((a, b) => a - b)[Math.floor(all.length * 0.9)] ?? 0
      const figures = [median(all), most, median(net), median(used)].map((figure) => figure.toFixed(2))
      console.log(`| ${name} | ${messages} | ${figures.join(' | ')} |`)
    }
  }
  console.log(
    '\n| checkout | first byte later than direct during bombs, ms (median) | most | memory, MB |\n|---|---:|---:|---:|',
  )
  const bomb = gzipSync(
    `{"messages":[${Array.from({ length: 350_000 }, () => '{"role":"user","content":"a"}').join(',')}]}`,
  )
  for (const { name, url, process: childProcess } of all) {
    const late: number[] = []
    for (let turn = 0; turn < 20; turn++) {
      const posted = posting(url, bomb)
      const body = said([{ role: 'user', content: `beside ${turn}` }], 0)
      await new Promise((done) => setTimeout(done, 50))
      const [having] = await called(url, body)
      const [without] = await called(direct, body)
      late.push(having - without)
      await posted
    }
    const status = readFileSync(`/proc/${childProcess.pid}/status`, 'utf8')
    const memory = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024
    console.log(`| ${name} | ${median(late).toFixed(2)} | ${Math.max(...late).toFixed(2)} | ${memory.toFixed(0)} |`)
  }
  for (const one of all) {
    one.process.removeAllListeners('exit')
    const ended = new Promise((done) => one.process.on('exit', done))
    one.process.kill('SIGTERM')
    await ended
  }
  agent.destroy()
  child.kill()
  rmSync(folder, { recursive: true })
}
