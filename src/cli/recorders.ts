/** The recorders of a command: one for each scope that is used. */
import type { IncomingMessage } from 'node:http'
import { isLeft } from '../json/index.ts'
import type { Redactor } from '../redact/index.ts'
import {
  carriesConversation,
  createRecorder,
  type ObservedCall,
  type Recorder,
  type RecorderSummary,
} from '../recorder/index.ts'
import { beginRun, decompress, type Run } from '../recorder/proxy/index.ts'
import type { Store } from '../store/index.ts'
import type { Call, Terminal } from './command.ts'
import { answer, scopeOf } from './place.ts'
import { redactorIn, tellRedacted } from './redacted.ts'
import { removeOld } from './retention.ts'
import { counted } from './screen.ts'

/** What was recorded into one scope; without a name, into that of the call. */
export interface ScopeSummary extends RecorderSummary {
  readonly scope?: string
}

/** What is recorded into one scope. */
interface Scope {
  readonly store: Store
  readonly recorder: Recorder
  readonly run: Run
  /** Its calls that are not over. */
  open: number
}

/** Scopes that have a recorder: those that were used last, and those with open calls. */
const mostScopes = 64

/** A recorder for each scope. */
export class Recorders {
  readonly #store: Store
  readonly #terminal: Terminal
  readonly #header: string | undefined
  readonly #content: boolean
  readonly #redactor: Redactor | undefined
  readonly #sample: number
  readonly #days: number | undefined
  /** The one that was used last at the end. */
  readonly #all = new Map<string, Scope>()
  /** What was recorded by those that have ended. */
  #past: RecorderSummary | undefined
  /** What is done beside recording: removing what is old, and ending recorders that are not used. */
  #beside: Promise<void> = Promise.resolve()
  #told = 0

  constructor(store: Store, { values, terminal }: Call, sample: number, days: number | undefined) {
    this.#store = store
    this.#terminal = terminal
    this.#header = typeof values['scope-header'] === 'string' ? values['scope-header'].toLowerCase() : undefined
    this.#content = values['no-content'] !== true
    this.#redactor = redactorIn(values)
    this.#sample = sample / 100
    this.#days = days
  }

  /** Begin with the scope of requests that name none. */
  begin(): void {
    this.#scope('', this.#store)
    this.removeOld()
  }

  /** What observes a request, in the scope that it names. Only a conversation makes a scope. */
  of({ headers }: IncomingMessage): Pick<Recorder, 'observe'> {
    const found = this.#header === undefined ? undefined : headers[this.#header]
    const name = (Array.isArray(found) ? found[0] : found) ?? ''
    return {
      observe: (request) => {
        const scope = carriesConversation(request) ? this.#scopeOf(name) : this.#all.get('')
        const call = scope?.recorder.observe(request)
        return scope === undefined || call === undefined ? undefined : counting(scope, call)
      },
    }
  }

  #scopeOf(name: string): Scope | undefined {
    const known = this.#all.get(name)
    if (known !== undefined) {
      this.#all.delete(name)
      this.#all.set(name, known)
      return known
    }
    const store = name === '' ? undefined : this.#store.scoped(name)
    if (store !== undefined && isLeft(store)) {
      this.#tell(`a call is not recorded: ${JSON.stringify(name)} can't be a scope`)
      return undefined
    }
    for (const [other, scope] of this.#all) {
      if (this.#all.size < mostScopes) break
      if (other === '' || scope.open > 0) continue
      this.#all.delete(other)
      this.#next(() => this.#end(scope))
    }
    return this.#scope(name, store?.right ?? this.#store)
  }

  #scope(name: string, store: Store): Scope {
    const recorder = createRecorder({
      store,
      content: this.#content,
      ...(this.#redactor !== undefined && { redact: this.#redactor }),
      sample: this.#sample,
      decompress,
      onNotice: (notice) =>
        this.#tell(
          notice._tag === 'NotRecorded' ? `a call of ${notice.url} is not recorded: ${notice.reason}` : notice.reason,
        ),
    })
    const scope = { store, recorder, run: beginRun(store), open: 0 }
    void this.#tellMarked(scope.run)
    this.#all.set(name, scope)
    return scope
  }

  /** A recorder that is not used any more. */
  async #end({ recorder, run }: Scope): Promise<void> {
    await recorder.settled()
    const summary = recorder.summary()
    this.#past = this.#past === undefined ? withoutNames(summary) : added(this.#past, summary)
    await run.end()
  }

  /** Remove what is old: in the scope of the command, or where requests name theirs, in all of the store. */
  removeOld(): void {
    if (this.#days === undefined) return
    const days = this.#days
    this.#next(async () => {
      try {
        const names = this.#header === undefined ? undefined : await answer(this.#store.scopes())
        const others = names?.filter((name) => name !== this.#store.scope).map((name) => scopeOf(this.#store, name))
        let removed = 0
        for (const store of [this.#store, ...(others ?? [])]) removed += await removeOld(store, days)
        if (removed > 0) this.#terminal.tell([`${counted(removed, 'session')} older than ${days} days removed`])
      } catch (cause) {
        this.#tell(`old sessions could not be removed: ${(cause as Error).message}`)
      }
    })
  }

  /** Do it behind what is done beside recording. */
  #next(work: () => Promise<void>): void {
    const before = this.#beside
    this.#beside = (async () => {
      await before
      await work()
    })()
  }

  async #tellMarked({ marked }: Run): Promise<void> {
    const count = await marked
    if (count > 0) this.#tell(`${counted(count, 'call')} of a recorder that was killed: marked as without an answer`)
  }

  /** Everything is recorded, and nothing more comes. */
  async settled(): Promise<void> {
    await Promise.all([...this.#all.values()].map(({ recorder }) => recorder.settled()))
    await this.#beside
    await Promise.all([...this.#all.values()].map(({ run }) => run.end()))
  }

  summaries(): readonly ScopeSummary[] {
    const open = [...this.#all].map(([scope, { recorder }]) =>
      Object.assign({}, recorder.summary(), scope === '' ? {} : { scope }),
    )
    return this.#past === undefined ? open : [...open, this.#past]
  }

  /** Say what was taken out. */
  tellRedacted(): void {
    tellRedacted(this.#redactor, this.#terminal)
  }

  #tell(line: string): void {
    this.#told++
    if (this.#told <= 20) this.#terminal.tell([`indelible: ${line}`])
  }
}

/** A call that its scope counts until it is over. */
const counting = (scope: Scope, call: ObservedCall): ObservedCall => {
  scope.open++
  let isOver = false
  const over = (): void => {
    if (!isOver) scope.open--
    isOver = true
  }
  return {
    ...call,
    end: () => {
      call.end()
      over()
    },
    fail: (reason) => {
      call.fail(reason)
      over()
    },
  }
}

/** Figures alone: whose sessions they are is not kept for ever. */
const withoutNames = (summary: RecorderSummary): RecorderSummary => ({
  ...summary,
  sessions: [],
  moreSessions: summary.sessions.length + summary.moreSessions,
  breaks: [],
  moreBreaks: summary.breaks.length + summary.moreBreaks,
  models: new Map(),
})

const added = (one: RecorderSummary, more: RecorderSummary): RecorderSummary => {
  const other = withoutNames(more)
  const figures = [
    'calls',
    'failed',
    'silent',
    'passed',
    'lost',
    'unanswered',
    'dollars',
    'unpriced',
    'moreSessions',
    'moreBreaks',
  ] as const
  const kinds = ['input', 'output', 'cacheRead', 'cacheWrite'] as const
  return {
    ...one,
    ...(Object.fromEntries(figures.map((figure) => [figure, one[figure] + other[figure]])) as Pick<
      RecorderSummary,
      (typeof figures)[number]
    >),
    usage: Object.fromEntries(
      kinds.map((kind) => [kind, one.usage[kind] + other.usage[kind]]),
    ) as RecorderSummary['usage'],
  }
}
