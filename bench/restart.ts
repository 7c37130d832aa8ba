/**
 * The first context after a restart, each in a process of
 * its own, in which nothing has run before. Processor time, with what the compiler takes.
 *
 * `node restart.ts [small]`
 */
import { spawnSync } from 'node:child_process'
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory, type Message, type Part, type View } from 'indelible'
import { deriveContext, type DerivedContext } from 'indelible/context'
import { machine } from './measure.ts'
import { session } from './messages.ts'

/** The session again and again, each time with messages and ids of its own. */
const recordOf = (length: number): View<Message> =>
  createHistory<Message>({
    from: Array.from({ length }, (_, position): Message => {
      const round = Math.floor(position / session.length)
      const { role, content } = session[position % session.length] as Message
      const withOwnId = (part: Part): Part =>
        part.type === 'tool_call'
          ? { ...part, id: `${part.id}_${round}` }
          : part.type === 'tool_result'
            ? { ...part, callId: `${part.callId}_${round}` }
            : { ...part }
      // Instructions that pile up would be another matter: they may not be dropped.
      return {
        role: round > 0 && (role === 'system' || role === 'developer') ? 'user' : role,
        content: content.map(withOwnId),
      }
    }),
  }).view()

interface Timed {
  readonly milliseconds: number
  readonly digest: string
}

const derived = (view: View<Message>, budget: number): Timed => {
  const from = process.cpuUsage()
  const context = deriveContext(view, { budget })
  if (isLeft(context)) throw new Error(context.left._tag)
  const { messages }: DerivedContext = context.right
  for (const message of messages) if (message.content.length < 0) throw new Error('each is read')
  const spent = process.cpuUsage(from)
  return { milliseconds: (spent.user + spent.system) / 1000, digest: context.right.digest }
}

const [, , mode, length, budget] = process.argv
if (mode === 'one') {
  const view = recordOf(Number(length))
  globalThis.gc?.()
  const timed = derived(view, Number(budget))
  // Once more, where the compiler has seen the code: what a server that has served others takes.
  process.stdout.write(
    JSON.stringify({ ...timed, warm: derived(recordOf(Number(length)), Number(budget)).milliseconds }),
  )
} else {
  console.log(`## The first context after a restart\n\n${machine()}\n`)
  console.log('| messages | budget | cold | warm |\n|---:|---:|---:|---:|')
  for (const messages of mode === 'small' ? [1_000, 10_000] : [1_000, 10_000, 100_000])
    for (const tokens of [32_000, 100_000]) {
      const rounds = [1, 2, 3].map((): Timed & { readonly warm: number } => {
        const args = [
          ...process.execArgv,
          '--expose-gc',
          '--max-old-space-size=6000',
          import.meta.filename,
          'one',
          `${messages}`,
          `${tokens}`,
        ]
        const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1e9 })
        if (status !== 0) throw new Error(stderr)
        return JSON.parse(stdout) as Timed & { readonly warm: number }
      })
      const median = (of: (timed: Timed & { readonly warm: number }) => number): string =>
        `${rounds
          .map(of)
          .toSorted((a, b) => a - b)[1]
          ?.toFixed(0)} ms`
      console.log(
        `| ${messages.toLocaleString('en')} | ${tokens.toLocaleString('en')} | ${median(({ milliseconds }) => milliseconds)} | ${median(({ warm }) => warm)} |`,
      )
    }
}
