/**
 * `incremental`: what is relevant now, selected and packed anew for each call. Every message is scored by the files
 * and tools it shares with the task at hand, by the errors it holds, and by its distance; the recent window and the rules
 * are always in.
 *
 * Source  Liu et al. (arXiv 2512.22087), sections 3 and 4; weights as in codetether-agent `session/context/incremental.rs`
 */
import { toolCallsOf, type Message } from '../message/index.ts'
import { packed } from './fit.ts'
import type { Candidate, Policy } from './policy.ts'
import { filesIn, plain } from './represent.ts'

/**
 * The policy that keeps what shares files, tools and errors with the task, and the latest messages. It chooses anew at
 * each call.
 */
export const incremental: Policy = Object.freeze<Policy>({
  name: 'incremental',
  choose: 'always',
  select: (selection) => {
    const { candidates } = selection
    const recent = Math.max(0, candidates.length - recentWindow)
    const task = candidates.findIndex(({ active }) => active)
    const signature = signatureOf(candidates.filter((_, index) => index === task || index >= recent))
    const scored = candidates
      .slice(0, recent)
      .map((candidate, index) => ({ index, score: scoreOf(candidate, signature, candidates.length - 1 - index) }))
      .toSorted((a, b) => b.score - a.score || b.index - a.index)
    const latest = [...candidates.keys()].slice(recent).toReversed()
    return packed(selection, [...latest, ...scored.map(({ index }) => index)])
  },
})

const recentWindow = 8
const weights = { file: 4, tool: 2.5, error: 3, distance: 0.05 } as const

/** What messages are about. */
interface Signature {
  readonly files: ReadonlySet<string>
  readonly tools: ReadonlySet<string>
  readonly errors: ReadonlySet<string>
}

/** What one message is about, each once. */
type About = { readonly [What in keyof Signature]: readonly string[] }

const scoreOf = ({ messages }: Candidate, task: Signature, distance: number): number => {
  let score = -weights.distance * distance
  for (const message of messages) {
    const { files, tools, errors } = aboutOf(message)
    score +=
      weights.file * shared(files, task.files) +
      weights.tool * shared(tools, task.tools) +
      weights.error * shared(errors, task.errors)
  }
  return score
}

const signatureOf = (candidates: readonly Candidate[]): Signature => {
  const abouts = candidates.flatMap(({ messages }) => messages.map(aboutOf))
  const all = (what: keyof Signature): ReadonlySet<string> => new Set(abouts.flatMap((about) => about[what]))
  return { files: all('files'), tools: all('tools'), errors: all('errors') }
}

/** Found out once for each recorded message. */
const aboutOf = (message: Message): About => {
  const known = abouts.get(message)
  if (known !== undefined) return known
  const said = message.content.map(plain).join('\n')
  const about = {
    files: filesIn(said, mostFiles),
    tools: [...new Set(toolCallsOf(message).map(({ name }) => name))],
    errors: [...new Set(said.slice(0, scanned).match(errorClass))],
  }
  abouts.set(message, about)
  return about
}

const abouts = new WeakMap<Message, About>()
const mostFiles = 20
const scanned = 4000
/** `TypeError`, `FileNotFoundException`, `ENOENT`, `TS2345` */
const errorClass = /\b(?:[A-Z][A-Za-z]*(?:Error|Exception)|E[A-Z]{4,}|TS\d{4,5})\b/g

const shared = (some: readonly string[], others: ReadonlySet<string>): number => {
  let count = 0
  for (const one of some) if (others.has(one)) count += 1
  return count
}
