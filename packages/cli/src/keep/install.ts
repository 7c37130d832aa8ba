/** `indelible keep --install` and `--uninstall`: hooks of the programs on this machine, and a timer. */
import { platform } from 'node:os'
import { cachedCommandText, editOf, editText, InstalledEdits, isEdit, isRefused } from '../install/edits.ts'
import { titleOf } from '../sources/agent-sessions.ts'
import { homeOf } from '../sources/home.ts'
import { defaultStorePath, isAddress, storeFile } from '../sources/store.ts'
import { ownProgram } from '../terminal/program.ts'
import { confirm, mustConfirm, Unreadable, type Call } from '../terminal/command.ts'
import { hookEdit, hookMark, programsWithHooks } from './hooks.ts'
import { quotedForShell, timerFor } from './timer.ts'

/** The variables that say where programs keep their sessions: a hook has no environment of its own. */
const variableNames: readonly string[] = [
  ...['HOME', 'XDG_DATA_HOME', 'XDG_CONFIG_HOME', 'CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'GEMINI_CLI_HOME'],
  ...['PI_CODING_AGENT_DIR', 'PI_CODING_AGENT_SESSION_DIR', 'COPILOT_HOME', 'KIMI_CODE_HOME', 'QWEN_HOME'],
  ...['OPENCODE_DB', 'PGPASSFILE'],
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
  const timers = (timer?.files ?? []).flatMap(({ path, text }) => editOf('timer', path, text) ?? [])
  const edits = [...found.filter(isEdit), ...timers]
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
    ...cachedCommandText(argv),
  ])
  if (asks) await confirm(terminal, 'Make these changes?', 'nothing was changed')
  new InstalledEdits('keep', terminal.env).make(edits)
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
  const installed = new InstalledEdits('keep', env)
  const found = programsWithHooks(env).map((program) => hookEdit(program, undefined, env))
  const own = found.filter(isEdit).map((edit) => installed.undone(edit))
  const { argv, variables } = commandOf(call, defaultStorePath(env))
  const timer = timerFor(argv, variables, env)
  const timers = (timer?.files ?? []).flatMap(({ path }) => editOf('timer', path, undefined) ?? [])
  const edits = [...own, ...timers]
  terminal.tell([
    ...edits.map(editText),
    ...found.filter(isRefused).map(({ program, reason }) => `${titleOf(program)}: ${reason}`),
  ])
  if (asks) await confirm(terminal, 'Make these changes?', 'nothing was changed')
  timer?.stop()
  installed.undo(edits)
  await terminal.print([
    edits.length === 0
      ? 'nothing was installed'
      : `uninstalled: ${[...new Set(edits.map(({ program }) => titleOf(program)))].join(', ')}`,
    `the kept sessions stay in ${storeFile(call.values, terminal, 'keep --uninstall takes no server')}`,
  ])
}

/** The command of a run, with absolute paths, and the variables that it needs. */
const commandOf = (
  { values, terminal }: Call,
  store: string,
): { readonly argv: readonly string[]; readonly variables: readonly string[] } => {
  const { env } = terminal
  const listOf = (name: string): readonly string[] => {
    const value = values[name]
    return Array.isArray(value) ? value.flatMap((item) => [`--${name}`, String(item)]) : []
  }
  const textOption = (name: string, path: boolean): readonly string[] => {
    const value = values[name]
    return typeof value === 'string' ? [`--${name}`, path ? terminal.path(value) : value] : []
  }
  const argv = [
    ...[...ownProgram(), 'keep', '--store', store],
    ...[...listOf('only'), ...listOf('exclude'), ...textOption('scope', false), ...textOption('key-file', true)],
    ...(values['redact'] === true ? ['--redact'] : []),
    ...(values['shared'] === true ? ['--shared'] : []),
    ...textOption('to', !isAddress(String(values['to'] ?? ''))),
  ]
  const set = { ...env, HOME: homeOf(env) }
  const variables = variableNames.flatMap((name) => {
    const value = set[name as keyof typeof set]
    return value === undefined || value === '' ? [] : [`${name}=${value}`]
  })
  return { argv, variables: [...variables, 'PATH=/usr/local/bin:/usr/bin:/bin'] }
}

/**
 * The seconds after which a hook's run is repeated: programs write the end of an answer after their hook was called.
 * Source: Qwen Code 0.24.4 queues what it writes, and calls its hook meanwhile (2026-11)
 */
const laterSeconds = 5

/**
 * The shell command of a hook. It ends at once, successfully, and says nothing: the runs go on in a session of their own,
 * without the hook's input and environment. It does nothing if Node or this command is gone.
 */
const hookCommand = (argv: readonly string[], variables: readonly string[]): string => {
  const [node = ''] = argv
  const main = argv[argv.indexOf('keep') - 1] ?? ''
  const runs = ['sh', '-c', `"$@"; sleep ${laterSeconds}; exec "$@"`, 'sh']
  const line = [...variables, ...runs, ...argv].map(quotedForShell).join(' ')
  return `[ -x ${quotedForShell(node)} ] && [ -f ${quotedForShell(main)} ] && cd / && { setsid env -i ${line} </dev/null >/dev/null 2>&1 & } ; exit 0 ${hookMark}`
}
