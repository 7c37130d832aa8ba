/** Decoding untrusted messages: by hand, as the library does, beside the schema libraries. Speed, and size in a bundle. */
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { isLeft } from 'fp-ts/lib/Either.js'
import { decodeMessage } from 'indelible'
import { snapshot } from '../src/json/index.ts'
import { machine, measure, report } from './measure.ts'
import { messages, source } from './messages.ts'
import { decodeWithValibot } from './decode-valibot.ts'
import { decodeWithZod } from './decode-zod.ts'

const parsed: readonly unknown[] = JSON.parse(JSON.stringify(messages))
for (const message of parsed)
  if (isLeft(decodeMessage(message)) || !decodeWithValibot(message) || !decodeWithZod(message))
    throw new Error('they disagree')

const all = (decode: (message: unknown) => unknown) => () => () => {
  for (const message of parsed) decode(message)
}

console.log(`${machine()}\n${source}.`)
report('Decode one message', [
  [
    'speed',
    await measure(
      [
        { name: 'decodeMessage (copies, freezes)', operations: parsed.length, prepare: all(decodeMessage) },
        {
          name: 'the same guarantee with valibot',
          operations: parsed.length,
          prepare: all((message) => decodeWithValibot(snapshot(message))),
        },
        {
          name: 'the same guarantee with zod',
          operations: parsed.length,
          prepare: all((message) => decodeWithZod(snapshot(message))),
        },
        { name: 'valibot', operations: parsed.length, prepare: all(decodeWithValibot) },
        { name: 'zod', operations: parsed.length, prepare: all(decodeWithZod) },
      ],
      21,
    ),
  ],
])

console.log('\n### Size in a bundle: minified, gzipped\n')
for (const [name, entry] of [
  ['decodeMessage', `export { decodeMessage } from '../src/message/decode.ts'`],
  ['valibot', `export { decodeWithValibot } from './decode-valibot.ts'`],
  ['zod', `export { decodeWithZod } from './decode-zod.ts'`],
  [
    'what every entry of the library loads anyway: Either of fp-ts, isDraft and current of Immer',
    `export { left } from 'fp-ts/lib/Either.js'; export { current, isDraft } from 'immer'`,
  ],
] as const) {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    platform: 'browser',
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  console.log(
    `- ${name}: ${(bytes.length / 1000).toFixed(1)} kB, ${(gzipSync(bytes).length / 1000).toFixed(1)} kB gzipped`,
  )
}
