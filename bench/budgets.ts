/**
 * How often a context that the default estimate fits into a budget takes more by an exact tokenizer: every recorded
 * conversation, every answer, several budgets and policies. And how much higher the estimate is on prose.
 *
 * `node budgets.ts`
 */
import { readdirSync, readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory, type Message, type View } from 'indelible'
import type { DerivedContext } from 'indelible/context'
import { paged, window } from '../packages/view/src/calls/policies.ts'
import { estimatorOf, textTokens } from '../src/context/internal.ts'
import { o200k } from 'indelible/context/gpt-tokenizer'
import { machine } from './measure.ts'
import { readTranscript } from '@indelible/transcripts'

const shared = new URL('../../shared/data/transcripts/', import.meta.url)
const budgets = [4_000, 8_000, 16_000, 32_000]
const policies = [paged, window]

const exact = estimatorOf(o200k)
const known = new WeakMap<Message, number>()
const count = (message: Message): number => {
  const found = known.get(message) ?? exact(message)
  known.set(message, found)
  return found
}

const viewsOf = (file: string): readonly View<Message>[] => {
  const bytes = readFileSync(new URL(file, shared))
  const views: View<Message>[] = []
  for (let pick = 0; pick < 50; pick++) {
    const transcript = readTranscript(bytes, { pick })
    if (isLeft(transcript)) break
    views.push(createHistory<Message>({ from: transcript.right.messages }).view())
    if (!file.startsWith('tau')) break
  }
  return views
}

interface Sum {
  contexts: number
  over: number
  most: number
}

/** The contexts before each answer, like those of a replay. */
const follow = (view: View<Message>, sum: Sum): void => {
  for (const policy of policies)
    for (const budget of budgets) {
      let previous: DerivedContext | undefined
      for (let position = 1; position < view.length; position++) {
        if (view.at(position)?.role !== 'assistant') continue
        const derived = policy.derive(view.slice(0, position), { budget, previous })
        if (isLeft(derived)) continue
        previous = derived.right
        let tokens = 0
        for (const message of derived.right.messages) tokens += count(message)
        sum.contexts += 1
        if (tokens > budget) sum.over += 1
        sum.most = Math.max(sum.most, tokens / budget)
      }
    }
}

const percent = (share: number): string => `${(share * 100).toFixed(2)} %`
const row = (name: string, { contexts, over, most }: Sum): void =>
  console.log(`| ${name} | ${contexts} | ${over} | ${percent(over / contexts)} | ${most.toFixed(3)}× |`)

console.log(`${machine()}\n`)
console.log('| conversation | contexts | above the budget | share | the largest, of its budget |')
console.log('|---|---:|---:|---:|---:|')
const all: Sum = { contexts: 0, over: 0, most: 0 }
for (const file of readdirSync(shared).toSorted()) {
  const sum: Sum = { contexts: 0, over: 0, most: 0 }
  for (const view of viewsOf(file)) follow(view, sum)
  if (sum.contexts === 0) continue
  row(file, sum)
  all.contexts += sum.contexts
  all.over += sum.over
  all.most = Math.max(all.most, sum.most)
}
row('**all**', all)

console.log('\n| prose | o200k | estimate |\n|---|---:|---:|')
for (const path of [
  '../README.md',
  ...readdirSync(new URL('../docs', import.meta.url)).map((name) => `../docs/${name}`),
]) {
  if (!path.endsWith('.md')) continue
  const prose = readFileSync(new URL(path, import.meta.url), 'utf8').replaceAll(/```[\s\S]*?```/g, '')
  console.log(`| ${path.slice(3)} | ${o200k(prose)} | ${(textTokens(prose) / o200k(prose)).toFixed(3)}× |`)
}
