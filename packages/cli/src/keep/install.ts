/** `indelible keep --install` and `--uninstall`: hooks of the programs on this machine, and a timer. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { platform } from 'node:os'
import { dirname, join } from 'node:path'
import { isLeft, isObject, parseJson, type JsonObject } from 'indelible/internal/json'
import { homeOf, titleOf } from '../sources/agent-sessions.ts'
import { unwritable } from '../sources/input.ts'
import { defaultStorePath, storeFile } from '../sources/store.ts'
import { ownProgram } from '../terminal/program.ts'
import { confirm, mustConfirm, Unreadable, type Call, type Terminal } from '../terminal/command.ts'
import {
  editText,
  hookEdit,
  hookMark,
  programsWithHooks,
  realPathOf,
  textOf,
  type FileEdit,
  type Refused,
} from './hooks.ts'
import { quotedForShell, timerFor, type Timer } from './timer.ts'

/** The variables that say where programs keep their sessions: a hook has no environment of its own. */
const variableNames: readonly string[] = [
  ...['HOME', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'GEMINI_CLI_HOME'],
  ...[
    'PI_CODING_AGENT_DIR',
    'PI_CODING_AGENT_SESSION_DIR',
    'COPILOT_HOME',
    'KIMI_CODE_HOME',
    'QWEN_HOME',
    'OPENCODE_DB',
  ],
]

/** Show the changes, ask, and make them. */
export const install = async (call: Call): Promise<number | void> => {
  const { terminal } = call
  const asks = mustConfirm('keep --install', call)
  const store = storeFile(
    call.values,
    terminal,
    'keep --install needs a store in a file: a hook has no password for a server',
  )
  const { argv, variables } = commandOf(call, store)
  const command = hookCommand(argv, variables)
  const timer = timerFor(argv, variables, terminal.env)
  const hasHooks = platform() === 'linux'
  const found = hasHooks
    ? programsWithHooks(terminal.env).map((program) => hookEdit(program, command, terminal.env))
    : []
  const edits = [...found.filter(isEdit), ...timerEdits(timer)]
  const refused = found.filter(isRefused)
  terminal.tell([
    `keeps the sessions of this machine in ${store}`,
    ...(hasHooks ? [] : ['hooks need setsid, which only Linux has: the timer keeps the sessions']),
    ...edits.map(editText),
    ...refused.map(
      ({ program, reason }) => `${titleOf(program)}: ${reason}; add a hook with this command yourself: ${command}`,
    ),
    timer === undefined
      ? 'no timer: this system has neither systemd for users nor cron'
      : `timer: ${timer.name}, every 15 minutes`,
    `each hook runs: ${command}`,
    ...(argv.some((one) => one.includes(`${join('_npx', '')}`))
      ? ['this command is in the cache of npx, which may be emptied: install indelible to keep it']
      : []),
  ])
  if (asks) await confirm(terminal, 'Make these changes?', 'nothing was changed')
  const before = readRecord(terminal.env)
  for (const edit of edits) write(edit)
  writeRecord(terminal.env, {
    ...before,
    ...Object.fromEntries(
      edits.map(({ path, before: text, after }) => [
        path,
        { before: before[path]?.before ?? text ?? null, after: after ?? null },
      ]),
    ),
  })
  const problem = timer?.start()
  if (problem !== undefined)
    throw new Unreadable(`the hooks are installed, but the timer (${timer?.name}) did not start: ${problem}`)
  await terminal.print([
    `installed: ${edits.length === 0 ? 'nothing had to be changed' : [...new Set(edits.map(({ program }) => titleOf(program)))].join(', ')}`,
  ])
}

/** Remove what `install` added, and nothing else. */
export const uninstall = async (call: Call): Promise<number | void> => {
  const { terminal } = call
  const { env } = terminal
  const asks = mustConfirm('keep --uninstall', call)
  const record = readRecord(env)
  const found = programsWithHooks(env).map((program) => hookEdit(program, undefined, env))
  const own = found.filter(isEdit).map((edit): FileEdit => {
    const known = record[edit.path]
    // Nobody changed the file since: it gets the text that it had.
    return known !== undefined && known.after === edit.before
      ? Object.assign({}, edit, { after: known.before ?? undefined })
      : edit
  })
  const { argv, variables } = commandOf(call, defaultStorePath(env))
  const timer = timerFor(argv, variables, env)
  const timers = (timer?.files ?? []).flatMap(({ path }): readonly FileEdit[] => {
    const before = textOf(path)
    return before === undefined ? [] : [{ program: 'timer', path, before, after: undefined }]
  })
  const edits = [...own, ...timers]
  terminal.tell([
    ...edits.map(editText),
    ...found.filter(isRefused).map(({ program, reason }) => `${titleOf(program)}: ${reason}`),
  ])
  if (asks) await confirm(terminal, 'Make these changes?', 'nothing was changed')
  timer?.stop()
  for (const edit of edits) write(edit)
  rmSync(recordPath(env), { force: true })
  await terminal.print([
    edits.length === 0
      ? 'nothing was installed'
      : `uninstalled: ${[...new Set(edits.map(({ program }) => titleOf(program)))].join(', ')}`,
    `the kept sessions stay in ${storeFile(call.values, terminal, 'keep --uninstall takes no server')}`,
  ])
}

const isEdit = (found: FileEdit | Refused | undefined): found is FileEdit => found !== undefined && 'path' in found
const isRefused = (found: FileEdit | Refused | undefined): found is Refused => found !== undefined && 'reason' in found

/** The command of a run, with absolute paths, and the variables that it needs. */
const commandOf = (
  { values, terminal }: Call,
  store: string,
): { readonly argv: readonly string[]; readonly variables: readonly string[] } => {
  const { env } = terminal
  const listOf = (name: string): readonly string[] => {
    const given = values[name]
    return Array.isArray(given) ? given.flatMap((one) => [`--${name}`, String(one)]) : []
  }
  const textOption = (name: string, path: boolean): readonly string[] => {
    const given = values[name]
    return typeof given === 'string' ? [`--${name}`, path ? terminal.path(given) : given] : []
  }
  const argv = [
    ...[...ownProgram(), 'keep', '--store', store],
    ...[...listOf('only'), ...listOf('exclude'), ...textOption('scope', false), ...textOption('key-file', true)],
    ...(values['redact'] === true ? ['--redact'] : []),
  ]
  const set = { ...env, HOME: homeOf(env) }
  const variables = variableNames.flatMap((name) => {
    const value = set[name as keyof typeof set]
    return value === undefined || value === '' ? [] : [`${name}=${value}`]
  })
  return { argv, variables: [...variables, 'PATH=/usr/local/bin:/usr/bin:/bin'] }
}

/**
 * The shell command of a hook. It ends at once, successfully, and says nothing: the run goes on in a session of its own,
 * without the hook's input and environment. It does nothing if Node or this command is gone.
 */
export const hookCommand = (argv: readonly string[], variables: readonly string[]): string => {
  const [node = ''] = argv
  const main = argv[argv.indexOf('keep') - 1] ?? ''
  const line = [...variables, ...argv].map(quotedForShell).join(' ')
  return `[ -x ${quotedForShell(node)} ] && [ -f ${quotedForShell(main)} ] && cd / && { setsid env -i ${line} </dev/null >/dev/null 2>&1 & } ; exit 0 ${hookMark}`
}

const timerEdits = (timer: Timer | undefined): readonly FileEdit[] =>
  (timer?.files ?? []).flatMap(({ path, text }) => {
    const before = textOf(path)
    return before === text ? [] : [{ program: 'timer', path, before, after: text }]
  })

/** Replace a file at once, also behind a link, with the mode that it had. */
const write = ({ path, after }: FileEdit): void => {
  const real = realPathOf(path)
  try {
    if (after === undefined) return rmSync(real, { force: true })
    mkdirSync(dirname(real), { recursive: true, mode: 0o700 })
    const mode = statSync(real, { throwIfNoEntry: false })?.mode ?? 0o600
    const partial = `${real}.${randomUUID()}.indelible`
    writeFileSync(partial, after, { mode: mode & 0o777 })
    renameSync(partial, real)
  } catch (error) {
    throw unwritable(path, error)
  }
}

/** The texts of changed files, before and after. */
interface InstallRecord {
  readonly [path: string]: { readonly before: string | null; readonly after: string | null } | undefined
}

const recordPath = (env: Terminal['env']): string => join(dirname(defaultStorePath(env)), 'keep-install.json')

const readRecord = (env: Terminal['env']): InstallRecord => {
  if (!existsSync(recordPath(env))) return {}
  const parsed = parseJson(readFileSync(recordPath(env), 'utf8'))
  return isLeft(parsed) || !isObject(parsed.right) ? {} : (parsed.right as JsonObject as unknown as InstallRecord)
}

const writeRecord = (env: Terminal['env'], record: InstallRecord): void => {
  mkdirSync(dirname(recordPath(env)), { recursive: true, mode: 0o700 })
  writeFileSync(recordPath(env), JSON.stringify(record), { mode: 0o600 })
}
