/** `indelible keep`: keeps the sessions of all programs on this machine. */
import { chmodSync, existsSync, statfsSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, sep } from 'node:path'
import { isArray } from 'indelible/internal/json'
import { memoryStore, type Store } from 'indelible/store'
import { folderOf, programs, titleOf } from '../sources/agent-sessions.ts'
import { homeOf } from '../sources/home.ts'
import { tellLastResult } from './last-result.ts'
import { scopeOf, storeOption, withKeysOf, withOpened, withStore } from '../sources/place.ts'
import { redactorIn, reportRedactions } from '../sources/redaction.ts'
import { defaultStorePath, fileOfStore, isAddress, openStore, storeName } from '../sources/store.ts'
import { Misuse, Unreadable, wordOf, type Call, type Command, type Terminal } from '../terminal/command.ts'
import { sizeText } from '../terminal/progress.ts'
import { countText, oneLine } from '../terminal/screen.ts'
import { alignRows, columnWidths } from '../terminal/table.ts'
import { keepSessions, type KeepOptions, type ProgramReport } from './keep-store.ts'
import { RunFile, runFilePath } from './run-file.ts'
import type { SendReport } from './send.ts'

export const keep: Command = {
  name: 'keep',
  synopsis: 'keep',
  purpose: 'keep the sessions of all programs on this machine',
  usage: ['keep [options]', 'keep --install [options]', 'keep --uninstall [options]'],
  about: `Keeps the sessions of every agent on this machine: first the bytes of their files,
exactly as they are, then their messages. A session that was kept once stays, also
if its program deletes, rewrites or moves its files; "indelible restore" writes them
back. Each run reads only what has changed. What a program adds is appended. If its
user went back, the conversation continues in a fork: the same id with a number.

The programs: ${programs.join(', ')}.

Files that no reader reads yet are kept as bytes; their messages follow when a
version of this command reads them. Of databases the rows of each session are kept.
Settings, credentials, hooks and plugins are never read. docs/start/keep.md has the
files of each program.

Messages that were erased ("indelible erase") are not stored again, nor are the files
of a session that has them. A removed session is skipped until --again names it.

--install lets it run by itself: at the end of each answer by a hook of Claude Code,
Codex, Gemini CLI, Qwen Code, Copilot CLI and pi, and every 15 minutes by a timer. It
shows the changes and asks. --uninstall removes them again, and no session.

--to sends the messages of all kept sessions to a second store, such as one in
PostgreSQL, without text that looks like a secret, and without the bytes of files:
to a scope with your user name, or with --shared to the scope "default", which
everybody sees. Each session names its machine: "indelible list --where host=NAME".
One that has grown on two machines continues in a fork. What you erased here is
erased there. The password comes from PGPASSWORD or ~/.pgpass.

One run at a time keeps a store: another one asks it to look again, and ends.

Exit code 1 if something is not kept; it is listed, and the next run tries again.`,
  options: {
    only: { value: 'PROGRAM', many: true, help: 'keep only this program; repeatable' },
    exclude: { value: 'PROGRAM|FOLDER', many: true, help: 'leave out a program, or the files in a folder; repeatable' },
    again: { value: 'SESSION', many: true, help: 'keep a removed session again; repeatable' },
    redact: {
      help: 'remove text that looks like an API key, a token, or a password in an address, and keep no bytes of files',
    },
    to: { value: 'STORE', help: 'also send the sessions to this store, without secrets and bytes of files' },
    shared: { help: 'with --to: not to a scope of your own, but to the scope "default"' },
    'dry-run': { help: 'only print what would be kept' },
    json: { help: 'one JSON object for each program' },
    install: { help: 'run it by itself: hooks of programs, and a timer' },
    uninstall: { help: 'remove these hooks and the timer' },
    yes: { help: 'with --install, --uninstall: do not ask; required without a terminal' },
    ...storeOption,
  },
  forms: {
    '': ['only', 'exclude', 'again', 'redact', 'to', 'shared', 'dry-run', 'json', ...Object.keys(storeOption)],
    install: ['only', 'exclude', 'redact', 'to', 'shared', 'yes', ...Object.keys(storeOption)],
    uninstall: ['yes', ...Object.keys(storeOption)],
  },
  examples: [
    'indelible keep',
    'indelible keep --only claude-code --exclude ~/work/secret',
    'indelible keep --to postgres://ann@db.example.com/agents',
  ],
  run: async (call) => {
    const { values, terminal } = call
    const options = optionsOf(call)
    const target = targetOf(call)
    if (values['install'] === true) return (await import('./install.ts')).install(call)
    if (values['uninstall'] === true) return (await import('./install.ts')).uninstall(call)
    const file = fileOfStore(values, terminal)
    if (options.isDry && file !== undefined && !existsSync(file)) {
      const run = new RunFile(':memory:')
      run.lock()
      return printReports(await keepSessions(memoryStore(), run, options, terminal), call, options)
    }
    await tellLastResult(call)
    const before = sizeOf(file)
    return withStore(call, { make: !options.isDry }, async (store) => {
      if (file !== undefined && !options.isDry) makePrivate(file, terminal)
      const runPath = runFilePath(file ?? defaultStorePath(terminal.env))
      const run = new RunFile(options.isDry && !existsSync(runPath) ? ':memory:' : runPath)
      try {
        if (!run.lock()) {
          terminal.tell(['another run keeps this store now; it was asked to look again'])
          return 0
        }
        let reports: readonly ProgramReport[]
        let code: number
        let notSent: readonly string[] = []
        do {
          reports = await keepSessions(store, run, options, terminal)
          code = await printReports(reports, call, options)
          if (target === undefined) continue
          notSent = await send(store, target, call, options)
          if (notSent.length > 0) code = 1
        } while (!options.isDry && run.takeRequest())
        reportRedactions(options.redactor, terminal)
        if (options.isDry) return code
        run.end({ at: Date.now(), failures: [...reports.flatMap(notKept), ...notSent] })
        if (file !== undefined && values['json'] !== true) await printSize(file, before, terminal)
        return code
      } finally {
        run.close()
      }
    })
  },
}

const optionsOf = ({ values, positionals, terminal }: Call): KeepOptions => {
  if (positionals.length > 0) throw new Misuse('keep takes no arguments; "indelible import FILE" stores a file')
  const only = listOf(values['only']).map((name) => wordOf('--only', name, programs, name))
  const excluded = listOf(values['exclude'])
  const folders = excluded
    .filter((name) => !programs.includes(name))
    .map((name) =>
      terminal.path(name === '~' || name.startsWith(`~${sep}`) ? homeOf(terminal.env) + name.slice(1) : name),
    )
  const missing = folders.find((folder) => !existsSync(folder))
  if (missing !== undefined)
    throw new Misuse(`--exclude takes a folder or one of ${programs.join(', ')}; there is no folder ${missing}`)
  return {
    programs: programs.filter((name) => (only.length === 0 || only.includes(name)) && !excluded.includes(name)),
    isExcluded: (path) => folders.some((folder) => path === folder || path.startsWith(folder + sep)),
    again: listOf(values['again']),
    redactor: redactorIn(values),
    isDry: values['dry-run'] === true,
  }
}

/** The second store. Throws Misuse. */
const targetOf = ({ values, terminal }: Call): string | undefined => {
  const { to } = values
  if (to === undefined && values['shared'] === true) throw new Misuse('--shared needs --to STORE')
  if (to === undefined) return undefined
  if (typeof to !== 'string' || to === '') throw new Misuse('--to takes a STORE')
  if (values['dry-run'] === true) throw new Misuse('--dry-run and --to exclude each other: a dry run sends nothing')
  if (!isAddress(to)) {
    if (terminal.path(to) === fileOfStore(values, terminal))
      throw new Misuse('--to takes a second store, not the one that keeps the sessions')
    return to
  }
  const { password, searchParams } = new URL(to)
  if (password !== '' || searchParams.has('password'))
    throw new Misuse(
      'the address of --to has a password, which other users of this machine can see: use PGPASSWORD, or ~/.pgpass',
    )
  return to
}

/** A container may run as a user that has no name. */
const userName = ({ env }: Terminal): string => {
  try {
    return userInfo().username
  } catch {
    return env['USER'] || env['LOGNAME'] || `user-${statSync(homeOf(env), { throwIfNoEntry: false })?.uid ?? 'unknown'}`
  }
}

/** Send the sessions, and print it. Returns what was not sent. */
const send = async (store: Store, location: string, call: Call, options: KeepOptions): Promise<readonly string[]> => {
  const { values, terminal } = call
  const name = storeName(location)
  try {
    const user = userName(terminal)
    const { sendSessions } = await import('./send.ts')
    const report = await withOpened(await openStore(location, true, terminal), (target) =>
      withKeysOf(call, target, (keyed) =>
        sendSessions(store, scopeOf(keyed, values['shared'] === true ? 'default' : user), user, options, terminal),
      ),
    )
    if (values['json'] === true) await terminal.printJson([{ to: name, ...report }])
    else await terminal.print(sentLines(name, report))
    return notSentLines(report)
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    const line = `not sent to ${name}: ${error.message}`
    terminal.tell([oneLine(line)])
    return [line]
  }
}

const sentLines = (name: string, report: SendReport): readonly string[] => {
  const { scope, sessions, added, grown, erased, secrets, forks, unread, failures } = report
  const news = [
    ...[added > 0 ? `${added} new` : '', grown > 0 ? `${grown} grown` : ''],
    ...[
      erased > 0 ? `${countText(erased, 'message')} erased` : '',
      secrets > 0 ? `${countText(secrets, 'secret')} removed` : '',
    ],
  ].filter(Boolean)
  return [
    `${name}, scope ${oneLine(scope)}: ${countText(sessions - unread.length - failures.length, 'session')} without bytes of files${news.length === 0 ? '' : `   ${news.join(', ')}`}`,
    ...forks.map(oneLine),
    ...(unread.length === 0
      ? []
      : [`${countText(unread.length, 'session')} without messages, not sent: ${oneLine(listText(unread))}`]),
    ...notSentLines(report).map(oneLine),
  ]
}

/** A line for each reason: of a database that is gone all sessions have the same. */
const notSentLines = ({ failures }: SendReport): readonly string[] =>
  [...Map.groupBy(failures, ({ reason }) => reason)].map(
    ([reason, all]) => `not sent: ${listText(all.map(({ id }) => id))}: ${reason}`,
  )

const listOf = (value: unknown): readonly string[] => (isArray(value) ? value.map(String) : [])

/** Print what was kept of each program. Returns the exit code. */
const printReports = async (
  reports: readonly ProgramReport[],
  { values, terminal }: Call,
  options: KeepOptions,
): Promise<number> => {
  const shown = reports.filter(
    (report) =>
      report.sessions > 0 ||
      Object.keys(report.changes).length > 0 ||
      report.deleted.length > 0 ||
      notKept(report).length > 0,
  )
  if (values['json'] === true) await terminal.printJson(shown)
  else {
    const rows = shown.map(headOf)
    const [titles = 0] = columnWidths(rows)
    for (const [index, line] of alignRows(rows, (column) => column === 1).entries()) {
      const details = detailsOf(shown[index] as ProgramReport, options)
      await terminal.print([line, ...details.map((detail) => `${' '.repeat(titles + 2)}${detail}`)])
    }
  }
  if (shown.length === 0)
    terminal.tell([
      `found no sessions of ${options.programs.map((program) => `${titleOf(program)} (${folderOf(program, terminal.env)})`).join(', ')}`,
    ])
  const failures = reports.flatMap(notKept)
  if (values['json'] !== true) await terminal.print(failures.map((line) => `not kept: ${oneLine(line)}`))
  return failures.length > 0 ? 1 : 0
}

const headOf = (report: ProgramReport): readonly string[] => {
  const { program, sessions, bytes, keptBytes, changes } = report
  const order = ['new', 'grown', 'rewritten', 'truncated']
  return [
    titleOf(program),
    countText(sessions, 'session'),
    bytes === 0 ? '' : `${sizeText(bytes)} on disk${keptBytes === bytes ? '' : `, ${sizeText(keptBytes)} kept`}`,
    order.flatMap((name) => (changes[name] === undefined ? [] : [`${changes[name]} ${name}`])).join(', '),
  ]
}

const detailsOf = (report: ProgramReport, { redactor, isDry }: KeepOptions): readonly string[] => {
  const { deletes, deleted, unread, skipped, changes, stored, unreadPlaces, failures } = report
  const branches = stored.filter(({ done }) => done === 'branched').map(({ id }) => id)
  const removed = [...skipped, ...stored.filter(({ done }) => done === 'removed').map(({ id }) => id)]
  return [
    ...(deletes === undefined || deletes.soon === 0
      ? []
      : [
          `deletes after ${countText(deletes.days, 'day')}: ${countText(deletes.soon, 'session')} this week${failures.length > 0 || isDry ? '' : '; all are kept'}`,
        ]),
    ...(deleted.length === 0
      ? []
      : [
          `${deleted.length} deleted since the last run: still here (indelible restore ${deleted.length === 1 ? deleted[0] : 'ID'})`,
        ]),
    ...(branches.length === 0 ? [] : [`earlier messages changed: continued in ${listText(branches)}`]),
    ...(changes['empty'] === undefined ? [] : [`${countText(changes['empty'], 'file')} empty`]),
    ...(unread.length === 0
      ? []
      : [`${countText(unread.length, 'session')} can't be read yet${redactor === undefined ? '; kept as bytes' : ''}`]),
    ...unreadPlaces.filter(isOfTable).map((line) => `${line.replace(/^[^:]+: /, '')}; their rows are kept`),
    ...(removed.length === 0
      ? []
      : [
          `${countText(removed.length, 'session')} skipped, because you removed ${removed.length === 1 ? 'it' : 'them'}: ${listText(removed)} (--again)`,
        ]),
  ]
}

const listText = (ids: readonly string[]): string =>
  `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ` and ${ids.length - 5} more` : ''}`

/** What is not kept, with the reasons. */
const notKept = ({ failures, unreadPlaces }: ProgramReport): readonly string[] => [
  ...failures,
  ...unreadPlaces.filter((line) => !isOfTable(line)),
]

const isOfTable = (line: string): boolean => line.includes(' of the table ')

const sizeOf = (file: string | undefined): number =>
  file === undefined
    ? 0
    : ['', '-wal'].reduce((sum, end) => sum + (statSync(file + end, { throwIfNoEntry: false })?.size ?? 0), 0)

/** Only the user may read the sessions. */
const makePrivate = (file: string, terminal: Terminal): void => {
  for (const end of ['', '-wal', '-shm']) {
    const mode = statSync(file + end, { throwIfNoEntry: false })?.mode
    if (mode === undefined || (mode & 0o077) === 0) continue
    chmodSync(file + end, 0o600)
    if (end === '') terminal.tell([`${file}: only you can read it now (mode 0600)`])
  }
}

/** Below this a disk is nearly full. */
const fewBytes = 1 << 30

const printSize = async (file: string, before: number, terminal: Terminal): Promise<void> => {
  const after = sizeOf(file)
  await terminal.print([`store ${sizeText(after)}${after > before ? `, +${sizeText(after - before)}` : ''}`])
  const { bavail, bsize } = statfsSync(dirname(file))
  if (bavail * bsize < Math.max(fewBytes, 2 * (after - before)))
    terminal.tell([`the disk of the store has only ${sizeText(bavail * bsize)} left`])
}
