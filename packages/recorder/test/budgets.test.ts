/** A request of many small things: it passes, and is not recorded, before anything of it is made. */
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { memoryStore, type Store } from 'indelible'
import { createRecorder } from '@indelible/recorder'
import { decompress } from '../src/proxy/internal.ts'
import { hasTooManyValues, mostMessages, mostValues, mostWaiting } from '../src/answers/body.ts'

/** A store that counts what is asked of it. */
const countingStore = (): { readonly store: Store; readonly asked: () => number } => {
  let asked = 0
  const store = new Proxy(memoryStore(), {
    get: (target, name) => {
      if (name === 'create' || name === 'append' || name === 'putBlocks') asked++
      return Reflect.get(target, name) as unknown
    },
  })
  return { store, asked: () => asked }
}

const send = async (body: string, path = '/chat/completions') => {
  const { store, asked } = countingStore()
  const notices: string[] = []
  const recorder = createRecorder({ store, decompress, onNotice: ({ reason }) => notices.push(reason) })
  const header = (name: string): string | undefined => (name === 'content-encoding' ? 'gzip' : undefined)
  const observed = recorder.observe({ method: 'POST', url: `http://x${path}`, header })
  observed?.sent(gzipSync(body))
  observed?.fail('gone')
  await recorder.settled()
  return { notices, asked: asked(), summary: recorder.summary() }
}
const listOf = (count: number, item: string): string => `[${Array.from({ length: count }, () => item).join(',')}]`

it.each([
  [
    '140,000 messages of three values',
    '/chat/completions',
    `{"messages":${listOf(140_000, '{"role":"user","content":"a"}')}}`,
  ],
  ['a list in a list', '/messages', `{"messages":${listOf(mostValues, '[]')}}`],
  ['keys of an object', '/messages', `{"metadata":{${listOf(mostValues, '"a":1').slice(1, -1)}}}`],
  ['messages alone', '/responses', `{"input":${listOf(mostMessages + 1, '"a"')}}`],
  ['messages in an envelope', '/a:generateContent', `{"request":{"contents":${listOf(mostMessages + 1, '1')}}}`],
])('%s are not recorded and cause no store access', async (_, path, body) => {
  const { notices, asked, summary } = await send(body, path)
  expect(notices).toEqual([expect.stringMatching(/^the request has (?:more than 400000 values|20001 messages)/)])
  expect([asked, summary.calls, summary.lost]).toEqual([0, 0, 1])
})

it('brackets and commas inside strings do not count as values', async () => {
  const text = JSON.stringify(`,[{"\\${',{['.repeat(mostValues)}`)
  expect(hasTooManyValues(`{"a":${text}}`)).toBe(false)
  const { summary } = await send(`{"messages":[{"role":"user","content":${text}}]}`)
  expect(summary.calls).toBe(1)
})

it('waiting requests have a byte budget; later ones are recorded again', async () => {
  const notices: string[] = []
  const recorder = createRecorder({ store: memoryStore(), onNotice: ({ reason }) => notices.push(reason) })
  const observe = (body: string | Uint8Array): void => {
    // An encoding that nobody reads, so that nothing more is done with large ones.
    const header = (name: string): string | undefined =>
      name === 'content-encoding' && typeof body !== 'string' ? 'none' : undefined
    const observed = recorder.observe({ method: 'POST', url: 'http://x/chat/completions', header })
    observed?.sent(body)
    observed?.fail('gone')
  }
  const small = '{"messages":[{"role":"user","content":"a"}]}'
  const large = new Uint8Array(mostWaiting / 2)
  observe(large)
  observe(large)
  observe(small)
  await recorder.settled()
  observe(small)
  await recorder.settled()
  expect(notices).toHaveLength(3)
  expect(notices[2]).toBe('more than 268435456 bytes of other requests wait to be recorded')
  expect(recorder.summary().calls).toBe(1)
})
