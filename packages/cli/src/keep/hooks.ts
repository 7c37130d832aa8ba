/** The hooks by which programs run `keep` when an answer or a session ends, as changes of their settings files. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isArray, isObject, ownField, type Json, type JsonObject } from 'indelible/internal/json'
import { editOf, hasClaudePlugin, settingsEdit, textOf, type FileEdit, type Refused } from '../install/edits.ts'
import { folderOf, piAgentFolder } from '../sources/agent-sessions.ts'
import type { Terminal } from '../terminal/command.ts'

interface Hook {
  /** The file below the program's folder. */
  readonly file: string
  readonly events: readonly string[]
  /** The entry of an event. */
  readonly entry: (command: string) => Json
  /** Whether the file is only ours: it is removed as a whole. */
  readonly isOwn?: boolean
  readonly remark?: string
}

const commandEntry = (command: string): Json => ({ hooks: [{ type: 'command', command }] })

/**
 * The files with the hooks of each program.
 *
 * Source  code.claude.com/docs/en/hooks; developers.openai.com/codex/hooks; geminicli.com/docs/hooks/reference;
 *         docs.github.com/en/copilot/reference/hooks-reference; qwenlm.github.io/qwen-code-docs, users/features/hooks (2026-11)
 */
const hooks: { readonly [program: string]: Hook } = {
  'claude-code': { file: 'settings.json', events: ['Stop', 'SessionEnd'], entry: commandEntry },
  codex: {
    file: 'hooks.json',
    events: ['Stop', 'SessionEnd'],
    entry: (command) => ({ hooks: [{ type: 'command', command, timeout: 3 }] }),
    remark: 'Codex runs it once you have trusted it: /hooks',
  },
  gemini: {
    file: 'settings.json',
    events: ['AfterAgent', 'SessionEnd'],
    entry: (command) => ({ matcher: '*', hooks: [{ name: 'indelible-keep', type: 'command', command }] }),
  },
  qwen: { file: 'settings.json', events: ['Stop', 'SessionEnd'], entry: commandEntry },
  copilot: {
    file: join('hooks', 'indelible-keep.json'),
    events: ['agentStop', 'sessionEnd'],
    entry: (command) => ({ type: 'command', bash: command }),
    isOwn: true,
  },
}

/** Marks our entries in settings of others. */
export const hookMark = '# indelible keep'

/** The programs that have hooks and a folder on this machine. */
export const programsWithHooks = (env: Terminal['env']): readonly string[] =>
  [...Object.keys(hooks), 'pi'].filter((program) =>
    existsSync(program === 'pi' ? piAgentFolder(env) : folderOf(program, env)),
  )

/** The change that adds or removes the hooks of a program; undefined if nothing changes. */
export const hookEdit = (
  program: string,
  command: string | undefined,
  env: Terminal['env'],
): FileEdit | Refused | undefined => {
  if (program === 'pi') {
    const path = join(piAgentFolder(env), 'extensions', 'indelible-keep.js')
    return editOf(program, path, command === undefined ? undefined : extensionOfPi(command))
  }
  const hook = hooks[program]
  if (hook === undefined) return undefined
  const path = join(folderOf(program, env), hook.file)
  if (hook.isOwn === true) {
    const own = {
      version: 1,
      hooks: Object.fromEntries(hook.events.map((event) => [event, [hook.entry(command ?? '')]])),
    }
    return editOf(program, path, command === undefined ? undefined : `${JSON.stringify(own, null, 2)}\n`)
  }
  const changed = (settings: JsonObject): JsonObject | string =>
    withHooks(settings, hook, command) ?? `the hooks in ${path} have another form, so they were not changed`
  // What is no longer plain JSON has nothing of ours to remove.
  if (command === undefined && textOf(path)?.includes(hookMark) !== true) return undefined
  const remark =
    program === 'claude-code' && hasClaudePlugin(env)
      ? 'then the hooks of the plugin indelible do nothing'
      : hook.remark
  return settingsEdit(program, path, changed, { removesEmpty: command === undefined, remark })
}

/** The settings with our entries, or without them; undefined if the hooks have another form. */
const withHooks = (settings: JsonObject, hook: Hook, command: string | undefined): JsonObject | undefined => {
  const found = ownField(settings, 'hooks') ?? {}
  const rest = Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'hooks'))
  if (!isObject(found)) return undefined
  const own: { [event: string]: Json } = {}
  for (const [event, entries] of Object.entries(found)) {
    if (!isArray(entries)) return undefined
    const kept = entries.filter((entry) => !JSON.stringify(entry).includes(hookMark))
    if (kept.length > 0 || kept.length === entries.length) own[event] = kept as Json
  }
  if (command !== undefined)
    for (const event of hook.events)
      own[event] = [...((own[event] as readonly Json[] | undefined) ?? []), hook.entry(command)]
  const isAsBefore = Object.hasOwn(settings, 'hooks') || Object.keys(own).length > 0
  const without = Object.keys(own).length === 0 && Object.keys(found).length > 0
  if (!isAsBefore || without) return rest
  // The settings keep the order of their members.
  return Object.hasOwn(settings, 'hooks') ? { ...settings, hooks: own } : { ...rest, hooks: own }
}

/** pi has no settings for hooks, but extensions. Source: badlogic/pi-mono, docs/extensions.md (pi 1.6) */
const extensionOfPi = (command: string): string => `${hookMark.replace('#', '//')}
export default (pi) => {
  const keep = async () => {
    const { spawn } = await import('node:child_process')
    spawn('/bin/sh', ['-c', ${JSON.stringify(command)}], { stdio: 'ignore', detached: true }).unref()
  }
  pi.on('agent_end', keep)
  pi.on('session_shutdown', keep)
}
`
