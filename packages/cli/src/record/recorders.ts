/** The recorders of a command, one for each scope in use. */
import { isLeft } from 'indelible/internal/json'
import type { Redactor } from 'indelible/redact'
import { createRecorder, type ObservedCall, type Recorder } from '@indelible/recorder'
import { beginRun, decompress, type Run } from '@indelible/recorder/internal/proxy'
import { describeSession } from 'indelible/session'
import type { Store } from 'indelible/store'
import type { Call, Terminal } from '../terminal/command.ts'
import { valueOrUnreadable, scopeOf } from '../sources/place.ts'
import { redactorIn, reportRedactions } from '../sources/redaction.ts'
import { removeOld } from './retention.ts'
import { countText } from '../terminal/screen.ts'
import type { RecorderSummary } from '@indelible/recorder/internal'

/** The recordings of a scope; without a name, of the command's own scope. */
export interface ScopeSummary extends RecorderSummary {
  readonly scope?: string
  /** The number of recorded sessions that the store no longer has, which `sessions` leaves out. */
  readonly removed?: number
}

interface Scope {
  readonly store: Store
  readonly recorder: Recorder
  readonly run: Run
  open: number
}

/** The most scopes with a recorder, unless more have open calls. The least recently used one ends first. */
const mostScopes = 64

interface RecordersOptions {
  /** The percentage of conversations to record. */
  readonly sample: number
  /** The number of days to keep sessions. Default: forever. */
  readonly days?: number | undefined
  /** The clock for recorded calls. */
  readonly now: () => number
  /** Whether to mark calls that a killed recorder left open. */
  readonly marks: boolean
}

export class Recorders {
  readonly #store: Store
  readonly #terminal: Terminal
  readonly #isNamed: boolean
  readonly #content: boolean
  readonly #redactor: Redactor | undefined
  readonly #options: RecordersOptions
  /** The most recently used scope is last. */
  readonly #all = new Map<string, Scope>()
  /** The recordings of ended recorders. */
  #past: RecorderSummary | undefined
  /** Background work: removing old sessions, and ending unused recorders. */
  #beside: Promise<void> = Promise.resolve()
  readonly #tell: (line: string) => void
  /** The number of calls whose scope has no valid name. */
  #refused = 0

  constructor(store: Store, { values, terminal }: Call, options: RecordersOptions) {
    this.#store = store
    this.#terminal = terminal
    this.#tell = limitedReporter(terminal)
    this.#isNamed = typeof values['scope-header'] === 'string'
    this.#content = values['no-content'] !== true
    this.#redactor = redactorIn(values)
    this.#options = options
  }

  /** Start with the scope for requests that name none. */
  begin(): void {
    this.#scope('', this.#store)
    this.removeOld()
  }

  /** The recorder of a scope; undefined if the name is invalid. */
  of(name: string): Pick<Recorder, 'observe'> | undefined {
    const scope = this.#scopeOf(name === this.#store.scope ? '' : name)
    return (
      scope && {
        observe: (request, onPlace) => {
          const call = scope.recorder.observe(request, onPlace)
          if (call !== undefined) count(scope, call)
          return call
        },
      }
    )
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
      this.#refused += 1
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
      sample: this.#options.sample / 100,
      now: this.#options.now,
      decompress,
      onNotice: (notice) =>
        this.#tell(
          notice._tag === 'NotRecorded' ? `a call of ${notice.url} is not recorded: ${notice.reason}` : notice.reason,
        ),
    })
    const scope = { store, recorder, run: beginRun(store, this.#options.marks), open: 0 }
    void this.#tellMarked(scope.run)
    this.#all.set(name, scope)
    return scope
  }

  async #end({ recorder, run }: Scope): Promise<void> {
    await recorder.settled()
    const summary = recorder.summary()
    this.#past = this.#past === undefined ? withoutNames(summary) : addSummaries(this.#past, summary)
    await run.end()
  }

  /** Remove old sessions: in the command's scope, or in the whole store if requests name their scopes. */
  removeOld(): void {
    const { days } = this.#options
    if (days === undefined) return
    this.#next(async () => {
      try {
        const names = !this.#isNamed ? undefined : await valueOrUnreadable(this.#store.scopes())
        const others = names?.filter((name) => name !== this.#store.scope).map((name) => scopeOf(this.#store, name))
        let removed = 0
        for (const store of [this.#store, ...(others ?? [])]) removed += await removeOld(store, days)
        if (removed > 0)
          this.#terminal.tell([`${countText(removed, 'session')} older than ${countText(days, 'day')} removed`])
      } catch (cause) {
        this.#tell(`old sessions could not be removed: ${(cause as Error).message}`)
      }
    })
  }

  /** Queue work after the other background work. */
  #next(work: () => Promise<void>): void {
    const before = this.#beside
    this.#beside = (async () => {
      await before
      await work()
    })()
  }

  async #tellMarked({ marked }: Run): Promise<void> {
    const count = await marked
    if (count > 0) this.#tell(`${countText(count, 'call')} of a recorder that was killed: marked as without an answer`)
  }

  /** Resolves when everything is recorded. Call it after the last request. */
  async settled(): Promise<void> {
    await Promise.all([...this.#all.values()].map(({ recorder }) => recorder.settled()))
    await this.#beside
    await Promise.all([...this.#all.values()].map(({ run }) => run.end()))
    for (const { store, recorder } of this.#all.values())
      for (const id of recorder.summary().sessions.slice(0, mostNamed)) {
        const info = await describeSession(store, id)()
        if (isLeft(info) && info.left._tag === 'NoSuchLog') this.#gone.add(id)
      }
  }

  /** Sessions that were removed while they were recorded or since. */
  readonly #gone = new Set<string>()

  summaries(): readonly ScopeSummary[] {
    const open = [...this.#all].map(([scope, { recorder }]): ScopeSummary => {
      const summary = recorder.summary()
      const sessions = summary.sessions.filter((id) => !this.#gone.has(id))
      return Object.assign(
        {},
        summary,
        { sessions, removed: summary.sessions.length - sessions.length },
        scope === '' ? { lost: summary.lost + this.#refused } : { scope },
      )
    })
    return this.#past === undefined ? open : [...open, this.#past]
  }

  /** Report the removed secrets. */
  tellRedacted(): void {
    reportRedactions(this.#redactor, this.#terminal)
  }
}

/** Prints lines, up to a limit. */
export const limitedReporter = (terminal: Terminal): ((line: string) => void) => {
  let reported = 0
  return (line) => {
    if (reported++ < 20) terminal.tell([`indelible: ${line}`])
  }
}

/** The most sessions of a scope that are looked up: a summary names the first few. */
const mostNamed = 100

/** Count a call in its scope until it is over. */
const count = (scope: Scope, call: ObservedCall): void => {
  scope.open++
  void call.over.then(() => void scope.open--)
}

/** A summary without session names, which would accumulate forever. */
const withoutNames = (summary: RecorderSummary): RecorderSummary => ({
  ...summary,
  sessions: [],
  moreSessions: summary.sessions.length + summary.moreSessions,
  breaks: [],
  moreBreaks: summary.breaks.length + summary.moreBreaks,
  models: new Map(),
})

const addSummaries = (first: RecorderSummary, more: RecorderSummary): RecorderSummary => {
  const other = withoutNames(more)
  const causes = sumCauses([first, other])
  return { ...addNumbers(first, other), usage: addNumbers(first.usage, other.usage), causes }
}

/** The first object with the numbers of both added up. */
const addNumbers = <T extends object>(a: T, b: T): T => {
  const entries = Object.entries(a).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'number' ? value + Number(b[name as keyof T]) : value,
  ])
  return Object.fromEntries(entries) as T
}

/** What the tokens of several recordings were paid for. */
export const sumCauses = (summaries: readonly Pick<RecorderSummary, 'causes'>[]): RecorderSummary['causes'] => {
  const sums = new Map<Parameters<RecorderSummary['causes']['get']>[0], { tokens: number; dollars: number }>()
  for (const { causes } of summaries)
    for (const [cause, { tokens, dollars }] of causes) {
      const sum = sums.get(cause)
      sums.set(cause, { tokens: (sum?.tokens ?? 0) + tokens, dollars: (sum?.dollars ?? 0) + dollars })
    }
  return sums
}
