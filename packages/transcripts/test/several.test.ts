/** A file of several conversations, opened once: each is what reading it alone gives. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { orThrow } from 'indelible'
import { readTranscripts, readTranscript } from '@indelible/transcripts'
import { root } from '../../../scripts/run.ts'

const body = (n: number): object => ({ model: `m${n}`, messages: [{ role: 'user', content: `q${n}` }, { role: 'assistant', content: `a${n}` }] }) // oxfmt-ignore
const answer = (n: number): object => ({
  id: `r${n}`,
  object: 'chat.completion',
  choices: ['x', 'y', 'z'].map((text, index) => ({ index, message: { role: 'assistant', content: `${text}${n}` } })),
})
const files: { readonly [name: string]: string } = {
  'bodies in lines': [0, 1, 2, 3].map((n) => JSON.stringify(body(n))).join('\n'),
  'bodies, answers of several choices, and damage': [
    JSON.stringify(body(0)),
    JSON.stringify(answer(1)),
    '{"cut": ',
    '{"x": 1e400, "messages": [{"role": "user", "content": "big"}]}',
    '',
    '{"nothing": true}',
    '{"messages": [{"role": "user", "content": 5}]}',
    JSON.stringify(body(5)),
  ].join('\n'),
  'an array of bodies': JSON.stringify([body(0), body(1), body(2)]),
  'an array of runs': JSON.stringify([0, 1].map((n) => ({ task_id: n, traj: [{ role: 'user', content: `t${n}` }] }))),
  'choices of one answer': JSON.stringify(answer(0)),
  'one conversation': JSON.stringify([{ role: 'user', content: 'alone' }]),
}

describe.each(Object.keys(files))('%s', (name) => {
  const text = files[name] as string
  it.each([false, true])('read one by one like each alone, strict: %s', (strict) => {
    const first = readTranscript(text, { strict })
    const all = readTranscripts(text, { strict })
    if (all._tag === 'Left') return expect(all).toEqual(first)
    const { count, at } = all.right
    expect(count).toBe(orThrow(first).count)
    for (const bytes of [false, true]) {
      const opened = orThrow(readTranscripts(bytes ? new TextEncoder().encode(text) : text, { strict }))
      for (const pick of [count - 1, 0, ...Array.from({ length: count + 2 }, (_, index) => index)])
        expect([pick, opened.at(pick)]).toEqual([pick, readTranscript(text, { pick, strict })])
    }
    expect(at(count)).toMatchObject({ left: { _tag: 'NoSuchConversation', count } })
  })
})

it('several conversations of the example read like each alone', () => {
  const text = readFileSync(join(root, 'examples/coding-agent.json'), 'utf8')
  expect(orThrow(readTranscripts(text)).at(0)).toEqual(readTranscript(text))
})
