/** Warns of changes that were made as tasks and never run: `void session.append(m)` appends nothing. */

declare const process: {
  readonly env: { readonly NODE_ENV?: string }
  readonly emitWarning?: Warn
  readonly once?: (event: 'beforeExit', listener: () => void) => unknown
}
declare const console: { readonly warn: (text: string) => void }
type Warn = (text: string, options: { readonly type: string }) => void

interface Watched {
  readonly change: string
  ran: boolean
}

/** Bundlers put NODE_ENV here; where there is none, nobody develops. */
const isDevelopment = (): boolean => {
  try {
    return process.env.NODE_ENV !== 'production'
  } catch {
    return false
  }
}

/** What is known of tasks that were made and did not run. */
interface Watching {
  readonly registry: FinalizationRegistry<Watched>
  /** How many tasks of each change have not run. A script can end before anything is collected. */
  readonly waiting: Map<string, number>
}

/** Made with the first task that changes something: sandboxes of workflow engines forbid one, and make no such task. */
const watching = (): Watching | undefined => (made ??= { watching: newWatching() }).watching

let made: { readonly watching: Watching | undefined } | undefined

const newWatching = (): Watching | undefined => {
  if (!isDevelopment() || typeof FinalizationRegistry !== 'function') return undefined
  const waiting = new Map<string, number>()
  const registry = new FinalizationRegistry<Watched>(({ change, ran }) => {
    if (!ran) warn(change)
  })
  // Where there is Node, and its process ends because nothing is left to do: not where it is ended or fails.
  if (typeof process === 'object' && process.once !== undefined)
    process.once('beforeExit', () => {
      for (const [change, count] of waiting) if (count > 0) warn(change)
    })
  return { registry, waiting }
}

/** Watch a task. @returns what is to be called when it runs; undefined where nothing is watched */
export const watch = (task: object, change: string): (() => void) | undefined => {
  const found = watching()
  if (found === undefined) return undefined
  const { registry, waiting } = found
  const watched: Watched = { change, ran: false }
  registry.register(task, watched)
  waiting.set(change, (waiting.get(change) ?? 0) + 1)
  return () => {
    if (watched.ran) return
    watched.ran = true
    waiting.set(change, (waiting.get(change) ?? 1) - 1)
  }
}

const warned = new Set<string>()

const warn = (change: string): void => {
  if (warned.has(change)) return
  warned.add(change)
  const text = `${change}(…) was called and its task never ran, so nothing was changed. Await it: \`await ${change}(…)\`; or call it for an Either: \`await ${change}(…)()\`. This is said once for each function, and not where NODE_ENV is production.`
  if (typeof process === 'object' && process.emitWarning !== undefined)
    process.emitWarning(text, { type: 'IndelibleWarning' })
  else console.warn(text)
}
