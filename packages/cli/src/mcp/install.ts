/** `indelible mcp --install` and `--uninstall`: adds the server to a program, by its own command or its settings. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { isObject, ownField, type JsonObject } from 'indelible/internal/json'
import {
  cachedCommandText,
  editOf,
  editText,
  hasClaudePlugin,
  InstalledEdits,
  isEdit,
  settingsEdit,
  textOf,
  type FileEdit,
  type Refused,
} from '../install/edits.ts'
import { folderOf, piAgentFolder, titleOf } from '../sources/agent-sessions.ts'
import { homeOf } from '../sources/home.ts'
import { fileOfStore, isAddress, storeOptionOf } from '../sources/store.ts'
import { confirm, Misuse, mustConfirm, Unreadable, wordOf, type Call, type Terminal } from '../terminal/command.ts'
import { ownProgram, programResult } from '../terminal/program.ts'
import { shellWord } from '../terminal/screen.ts'
import { piExtension } from './pi-extension.ts'

type Env = Terminal['env']

/** A program's own command for servers. Source: `claude mcp --help` (2.1.330), `codex mcp --help` (0.169) */
interface OwnCommand {
  readonly program: string
  readonly has: readonly string[]
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

const ownCommands: { readonly [program: string]: OwnCommand } = {
  'claude-code': {
    program: 'claude',
    has: ['mcp', 'get', 'indelible'],
    add: ['mcp', 'add', '--scope', 'user', 'indelible', '--'],
    remove: ['mcp', 'remove', '--scope', 'user', 'indelible'],
  },
  codex: {
    program: 'codex',
    has: ['mcp', 'get', 'indelible'],
    add: ['mcp', 'add', 'indelible', '--'],
    remove: ['mcp', 'remove', 'indelible'],
  },
}

/**
 * The changes of files that add the server, or remove it if there is no `argv`. Source: geminicli.com/docs/tools/mcp-server;
 * opencode.ai/docs/mcp-servers; pi 0.87.1, docs/extensions.md (2026-11)
 */
const fileEdits: {
  readonly [program: string]: (argv: readonly string[] | undefined, env: Env) => FileEdit | Refused | undefined
} = {
  gemini: (argv, env) => {
    const [command = '', ...args] = argv ?? []
    const entry = argv && { command, args: [...args] }
    return serverEdit('gemini', join(folderOf('gemini', env), 'settings.json'), 'mcpServers', entry)
  },
  opencode: (argv, env) => {
    const folder = join(env['XDG_CONFIG_HOME'] || join(homeOf(env), '.config'), 'opencode')
    const names = ['opencode.jsonc', 'opencode.json', 'config.json']
    const path = join(folder, names.find((name) => existsSync(join(folder, name))) ?? 'opencode.json')
    const entry = argv && { type: 'local', command: [...argv], enabled: true }
    return serverEdit('opencode', path, 'mcp', entry)
  },
  pi: (argv, env) =>
    editOf('pi', join(piAgentFolder(env), 'extensions', 'indelible-mcp.js'), argv && piExtension(argv)),
}

const installable: readonly string[] = [...Object.keys(ownCommands), ...Object.keys(fileEdits)]

/** The change of a settings file with a table of servers. */
const serverEdit = (
  program: string,
  path: string,
  table: string,
  entry: JsonObject | undefined,
): FileEdit | Refused | undefined => {
  if (entry === undefined && textOf(path)?.includes('indelible') !== true) return undefined
  return settingsEdit(
    program,
    path,
    (settings) => {
      const servers = ownField(settings, table) ?? {}
      if (!isObject(servers)) return `${table} in ${path} has another form, so it was not changed`
      if (entry !== undefined) return { ...settings, [table]: { ...servers, indelible: entry } }
      const others = without(servers as JsonObject, 'indelible')
      return Object.keys(others).length === 0 ? without(settings, table) : { ...settings, [table]: others }
    },
    { removesEmpty: entry === undefined },
  )
}

const without = (object: JsonObject, name: string): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([each]) => each !== name))

/** Show the change, ask, and make it. */
export const installServer = async (call: Call): Promise<void> => {
  const { values, terminal } = call
  const isRemoval = values['uninstall'] !== undefined
  const option = isRemoval ? 'uninstall' : 'install'
  const program = wordOf(`--${option}`, values[option], installable, '')
  const asks = mustConfirm(`mcp --${option}`, call)
  const argv = isRemoval ? undefined : serverCommand(call)
  if (program === 'claude-code' && !isRemoval && hasClaudePlugin(terminal.env))
    throw new Unreadable('Claude Code has the plugin indelible, which has the server: nothing was changed')
  const own = ownCommands[program]
  const done =
    own === undefined
      ? await changeFile(program, argv, asks, terminal)
      : await runOwnCommand(program, own, argv, asks, terminal)
  await terminal.print([
    done ? `${isRemoval ? 'removed from' : 'installed in'} ${titleOf(program)}` : 'nothing had to be changed',
  ])
  if (!isRemoval && done)
    terminal.tell([
      values['all-projects'] === true
        ? 'it answers about the sessions of all projects'
        : 'it answers about the sessions of the project that the program works in',
    ])
}

/** The command of the server, with absolute paths. Throws Misuse for an address with a password. */
const serverCommand = ({ values, terminal }: Call): readonly string[] => {
  const location = fileOfStore(values, terminal) ?? storeOptionOf(values, terminal) ?? ''
  if (isAddress(location) && new URL(location).password !== '')
    throw new Misuse(
      'mcp --install stores no password: leave it out of the address, and use PGPASSWORD or a pgpass file',
    )
  const options = ['since', 'scope'].flatMap((name) => {
    const value = values[name]
    return typeof value === 'string' ? [`--${name}`, value] : []
  })
  const all = values['all-projects'] === true ? ['--all-projects'] : []
  return [...ownProgram(), 'mcp', '--store', location, ...options, ...all]
}

const changeFile = async (
  program: string,
  argv: readonly string[] | undefined,
  asks: boolean,
  terminal: Terminal,
): Promise<boolean> => {
  const { env } = terminal
  const installed = new InstalledEdits('mcp', env)
  const found = fileEdits[program]?.(argv, env)
  if (found === undefined) return false
  if (!isEdit(found))
    throw new Unreadable(
      argv === undefined
        ? found.reason
        : `${found.reason}; add a server "indelible" with this command yourself: ${argv.map(shellWord).join(' ')}`,
    )
  const edit = argv === undefined ? installed.undone(found) : found
  terminal.tell([
    editText(edit),
    ...(argv === undefined ? [] : [`it runs: ${argv.map(shellWord).join(' ')}`, ...cachedCommandText(argv)]),
  ])
  if (asks) await confirm(terminal, 'Make this change?', 'nothing was changed')
  if (argv === undefined) installed.undo([edit])
  else installed.make([edit])
  return true
}

const runOwnCommand = async (
  program: string,
  { program: name, has, add, remove }: OwnCommand,
  argv: readonly string[] | undefined,
  asks: boolean,
  terminal: Terminal,
): Promise<boolean> => {
  const { env } = terminal
  const path = (env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))
  const adding = argv && [...add, ...argv]
  if (path === undefined)
    throw new Unreadable(
      `there is no ${name} in PATH; run this where it is: ${[name, ...(adding ?? remove)].map(shellWord).join(' ')}`,
    )
  const isThere = programResult(path, has, env).status === 0
  const runs = [...(isThere ? [remove] : []), ...(adding === undefined ? [] : [adding])]
  if (runs.length === 0) return false
  terminal.tell([
    ...runs.map((args) => `${titleOf(program)}: runs ${[name, ...args].map(shellWord).join(' ')}`),
    ...cachedCommandText(argv ?? []),
  ])
  if (asks) await confirm(terminal, 'Run this?', 'nothing was changed')
  for (const args of runs) {
    const { status, stdout, stderr, error } = programResult(path, args, env)
    if (status !== 0)
      throw new Unreadable(
        `${[name, ...args].map(shellWord).join(' ')} failed: ${(error?.message ?? (stderr || stdout).trim()) || `exit code ${status}`}`,
      )
  }
  return true
}
