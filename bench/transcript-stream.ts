/**
 * Reading transcripts that are larger than the memory: for each format of lines a file is generated, and a process by
 * itself reads it. `node transcript-stream.ts [MEGABYTES]`; the default is 1000.
 */
import { spawnSync } from 'node:child_process'
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readTranscriptStream } from '@indelible/transcripts'
import { generated } from '../packages/transcripts/test/generated.ts'
import { machine } from './measure.ts'

const [first = '1000', path] = process.argv.slice(2)

if (first === 'read' && path !== undefined) await measureReading(path)
else {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
  try {
    console.log(
      `${machine()}\n\n| format | size | messages | dropped ranges | seconds | MB/s | peak RSS |\n|---|---:|---:|---:|---:|---:|---:|`,
    )
    for (const format of ['indelible', 'pi-session', 'claude-code', 'codex']) {
      const file = join(folder, format)
      const descriptor = openSync(file, 'w')
      for (const piece of generated(format, Number(first) * 1e6)) writeSync(descriptor, piece)
      closeSync(descriptor)
      const { stdout, stderr, status } = spawnSync(process.execPath, [import.meta.filename, 'read', file], {
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(stderr)
      const { messages, dropped, seconds, peak } = JSON.parse(stdout) as { readonly [name: string]: number }
      const size = statSync(file).size / 1e6
      console.log(
        `| ${format} | ${size.toFixed(0)} MB | ${messages} | ${dropped} | ${seconds?.toFixed(1)} | ${(size / (seconds ?? NaN)).toFixed(0)} | ${peak} MB |`,
      )
      rmSync(file)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measureReading(file: string): Promise<void> {
  const from = performance.now()
  let messages = 0
  let dropped = 0
  for await (const event of readTranscriptStream(createReadStream(file, { highWaterMark: 1 << 20 }))) {
    if (event.type === 'message') messages += 1
    if (event.type === 'fault') throw new Error(JSON.stringify(event.fault))
    if (event.type === 'end') dropped = event.dropped.length
  }
  process.stdout.write(
    JSON.stringify({
      messages,
      dropped,
      seconds: (performance.now() - from) / 1000,
      peak: Math.round(process.resourceUsage().maxRSS / 1024),
    }),
  )
}
