/** Warns of changes that were made as tasks and never run: `void session.append(m)` appends nothing. */

declare const process: { readonly env: { readonly NODE_ENV?: string }; readonly emitWarning?: Warn }
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

/** Made with the first task that changes something: sandboxes of workflow engines forbid one, and make no such task. */
const registry = (): FinalizationRegistry<Watched> | undefined =>
  (made ??= {
    registry:
      isDevelopment() && typeof FinalizationRegistry === 'function'
        ? new FinalizationRegistry(({ change, ran }) => {
            if (!ran) warn(change)
          })
        : undefined,
  }).registry

let made: { readonly registry: FinalizationRegistry<Watched> | undefined } | undefined

/** Watch a task. @returns what is to be called when it runs; undefined where nothing is watched */
export const watch = (task: object, change: string): (() => void) | undefined => {
  const watching = registry()
  if (watching === undefined) return undefined
  const watched: Watched = { change, ran: false }
  watching.register(task, watched)
  return () => {
    watched.ran = true
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
