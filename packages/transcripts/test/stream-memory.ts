/** A process by itself, whose memory is its reader's: `node stream-memory.ts FORMAT MEGABYTES`. */
import { readFileSync } from 'node:fs'
import { readTranscriptStream } from '../src/index.ts'
import { generated } from './generated.ts'

const [format = '', megabytes = ''] = process.argv.slice(2)

async function* source(): AsyncGenerator<Uint8Array> {
  yield* generated(format, Number(megabytes) * 1e6)
}

/**
 * The most memory that this process had, in bytes. On Linux a child's `maxRSS` starts at what its parent had, so there it is
 * the high-water mark of its own pages.
 */
const peakOf = (): number => {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024
}

const before = process.memoryUsage.rss()
let messages = 0
let dropped = 0
for await (const event of readTranscriptStream(source())) {
  if (event.type === 'message') messages += 1
  if (event.type === 'end') dropped = event.dropped.length
}
process.stdout.write(JSON.stringify({ messages, dropped, grown: Math.round((peakOf() - before) / 2 ** 20) }))
