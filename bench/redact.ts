/**
 * What redaction costs: nanoseconds a character of text that is made to be slow, at three sizes (the same at each, if it is
 * linear), of prose and JSON, and of a text without white space that streams.
 */
import { createSession, memoryStore } from 'indelible'
import { createRedactor, secretRules } from 'indelible/redact'
import { sessionHandler } from 'indelible/run'

const redactor = createRedactor()
const sizes = [250_000, 500_000, 1_000_000]
const row = (name: string, work: (size: number) => () => unknown): number => {
  const nanoseconds = sizes.map((size) => {
    const once = work(size)
    const times = Array.from({ length: 3 }, () => {
      const began = performance.now()
      once()
      return performance.now() - began
    })
    return (Math.min(...times) * 1e6) / size
  })
  console.log(`| ${name.replaceAll('|', '\\|')} | ${nanoseconds.map((value) => value.toFixed(1)).join(' | ')} |`)
  return Math.max(...nanoseconds)
}
const repeated = (piece: string) => (size: number) => {
  const text = piece.repeat(Math.ceil(size / piece.length))
  return () => redactor.text(text)
}

console.log(`| ns a character | ${sizes.map((size) => size.toLocaleString('en')).join(' | ')} |\n|---|---:|---:|---:|`)
// The beginning of each format, alone and with what most formats go on with.
const beginnings = [...new Set(secretRules.flatMap(({ words = [] }) => words))]
const slowest = beginnings
  .flatMap((word) => [
    word,
    `${word}aB3-`,
    `${word}_aB3`,
    `${word}.`,
    `x${word}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa `,
  ])
  .map((piece) => {
    const once = repeated(piece)(100_000)
    const began = performance.now()
    once()
    return [performance.now() - began, piece] as const
  })
  .toSorted(([a], [b]) => b - a)
for (const [, piece] of slowest.slice(0, 5)) row(`\`${piece.trim()}\` again and again`, repeated(piece))
for (const piece of [
  'eyJ',
  'eyJaaaaaaaaaa.',
  '-----BEGIN PRIVATE KEY-----A-',
  'a://b:',
  '\\"',
  '\\\\',
  '%25',
  ';base64,aGVsbG8=',
  '{"a":',
])
  row(`\`${piece}\` again and again`, repeated(piece))
row('prose', repeated('Some words of prose, and more of them. '))
row('JSON with line feeds', (size) => {
  const text = JSON.stringify({ said: 'A line of a file\n'.repeat(size / 18) })
  return () => redactor.text(text)
})
const streamed = async (size: number): Promise<number> => {
  const session = await createSession(memoryStore(), { redact: redactor })
  const handler = sessionHandler(session, { journalEvery: { bytes: 1 }, lease: false })
  const ahead = { id: 'd', together: false, events: [] }
  await handler({ type: 'step_start', seq: 0, step: 0, len: 0 }, ahead)
  const began = performance.now()
  for (let at = 0; at < size; at += 20) {
    const event = { type: 'text_delta', block: 'text', index: 0, text: 'abcdefghij0123456789' } as const
    await handler({ type: 'model_event', seq: 1, step: 0, event }, ahead)
  }
  return ((performance.now() - began) * 1e6) / size
}
const streams: number[] = []
for (const size of sizes) streams.push(await streamed(size))
console.log(
  `| a stream without white space, in pieces of 20 | ${streams.map((value) => value.toFixed(1)).join(' | ')} |`,
)
