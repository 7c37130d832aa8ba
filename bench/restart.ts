/**
 * The first context after a restart, with the state that the process before had kept and without: each in a process of
 * its own, in which nothing has run before. Processor time, with what the compiler takes.
 *
 * `node restart.ts [small]`
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  readonly state: string | undefined
}

const derived = (view: View<Message>, budget: number, state: string | undefined): Timed => {
  const from = process.cpuUsage()
  const context = deriveContext(view, { budget, state })
  if (isLeft(context)) throw new Error(context.left._tag)
  const { messages }: DerivedContext = context.right
  for (const message of messages) if (message.content.length < 0) throw new Error('each is read')
  const spent = process.cpuUsage(from)
  return { milliseconds: (spent.user + spent.system) / 1000, digest: context.right.digest, state: context.right.state }
}

const [, , mode, length, budget, file] = process.argv
if (mode === 'with' || mode === 'without') {
  const state = mode === 'with' ? readFileSync(file as string, 'utf8') : undefined
  const view = recordOf(Number(length))
  globalThis.gc?.()
  const timed = derived(view, Number(budget), state)
  // Once more, where the compiler has seen the code: what a server that has served others takes.
  const warm = mode === 'with' ? derived(recordOf(Number(length)), Number(budget), state).milliseconds : NaN
  process.stdout.write(JSON.stringify({ ...timed, warm }))
} else {
  const folder = mkdtempSync(join(tmpdir(), 'restart-'))
  console.log(`## The first context after a restart\n\n${machine()}\n`)
  console.log('| messages | budget | without a state | with it, cold | warm | state |\n|---:|---:|---:|---:|---:|---:|')
  try {
    for (const messages of mode === 'small' ? [1_000, 10_000] : [1_000, 10_000, 100_000])
      for (const tokens of [32_000, 100_000]) {
        const file = join(folder, 'state')
        const run = (mode: string): Timed & { readonly warm: number } => {
          const args = [
            '--expose-gc',
            '--max-old-space-size=6000',
            import.meta.filename,
            mode,
            `${messages}`,
            `${tokens}`,
            file,
          ]
          const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1e9 })
          if (status !== 0) throw new Error(stderr)
          return JSON.parse(stdout) as Timed & { readonly warm: number }
        }
        const without = run('without')
        writeFileSync(file, without.state ?? '')
        const rounds = [1, 2, 3].map(() => run('with'))
        if (rounds.some(({ digest }) => digest !== without.digest)) throw new Error('another context')
        const median = (of: (timed: Timed & { readonly warm: number }) => number): string =>
          `${rounds
            .map(of)
            .toSorted((a, b) => a - b)[1]
            ?.toFixed(0)} ms`
        const size = `${((without.state ?? '').length / 1000).toFixed(1)} kB`
        console.log(
          `| ${messages.toLocaleString('en')} | ${tokens.toLocaleString('en')} | ${(without.milliseconds / 1000).toFixed(2)} s | ${median(({ milliseconds }) => milliseconds)} | ${median(({ warm }) => warm)} | ${size} |`,
        )
      }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
