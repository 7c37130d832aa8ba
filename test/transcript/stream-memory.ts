/** A process by itself, whose memory is its reader's: `node stream-memory.ts FORMAT MEGABYTES`. */
import { readTranscriptStream } from '../../src/transcript/index.ts'
import { generated } from './generated.ts'

const [format = '', megabytes = ''] = process.argv.slice(2)

async function* source(): AsyncGenerator<Uint8Array> {
  yield* generated(format, Number(megabytes) * 1e6)
}

globalThis.gc?.()
const before = process.memoryUsage.rss()
let messages = 0
let dropped = 0
for await (const event of readTranscriptStream(source())) {
  if (event.type === 'message') messages += 1
  if (event.type === 'end') dropped = event.dropped.length
}
const peak = process.resourceUsage().maxRSS / 1024
process.stdout.write(
  JSON.stringify({ messages, dropped, peak: Math.round(peak), grown: Math.round(peak - before / 2 ** 20) }),
)
