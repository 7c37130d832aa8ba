/** The hooks by which programs run `keep` when an answer or a session ends, as changes of their settings files. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isArray, isLeft, isObject, ownFields, parseJson, type Json, type JsonObject } from 'indelible/internal/json'
import { folderOf, piAgentFolder, titleOf } from '../sources/agent-sessions.ts'
import type { Terminal } from '../terminal/command.ts'

/** A change of one file. */
export interface FileEdit {
  readonly program: string
  readonly path: string
  /** The text now; undefined if there is no file. */
  readonly before: string | undefined
  /** The text afterwards; undefined removes the file. */
  readonly after: string | undefined
  /** What the user should know. */
  readonly remark?: string
}

/** A program whose settings can't be changed, with the reason. */
export interface Refused {
  readonly program: string
  readonly reason: string
}

interface Hook {
  readonly path: (env: Terminal['env']) => string
  readonly events: readonly string[]
  /** The entry of an event. */
  readonly entry: (command: string) => Json
  /** Whether the file is only ours: it is removed as a whole. */
  readonly isOwn?: boolean
  readonly remark?: string
}

const settingsHook = (
  events: readonly string[],
  name: string,
  more: Pick<Hook, 'remark'> & { readonly timeout?: number } = {},
): Hook => ({
  path: () => name,
  events,
  entry: (command) => ({
    hooks: [{ type: 'command', command, ...(more.timeout !== undefined && { timeout: more.timeout }) }],
  }),
  ...(more.remark !== undefined && { remark: more.remark }),
})

/**
 * The files with the hooks, below each program's folder.
 *
 * Source  code.claude.com/docs/en/hooks; developers.openai.com/codex/hooks; geminicli.com/docs/hooks/reference;
 *         docs.github.com/en/copilot/reference/hooks-reference; qwenlm.github.io/qwen-code-docs, users/features/hooks (2026-11)
 */
const hooks: { readonly [program: string]: Hook } = {
  'claude-code': settingsHook(['Stop', 'SessionEnd'], 'settings.json'),
  codex: settingsHook(['Stop', 'SessionEnd'], 'hooks.json', {
    timeout: 3,
    remark: 'Codex runs it once you have trusted it: /hooks',
  }),
  gemini: {
    ...settingsHook([], 'settings.json'),
    events: ['AfterAgent', 'SessionEnd'],
    entry: (command) => ({ matcher: '*', hooks: [{ name: 'indelible-keep', type: 'command', command }] }),
  },
  qwen: settingsHook(['Stop', 'SessionEnd'], 'settings.json'),
  copilot: {
    ...settingsHook([], join('hooks', 'indelible-keep.json')),
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
  const path = join(folderOf(program, env), hook.path(env))
  if (hook.isOwn === true) {
    const own = {
      version: 1,
      hooks: Object.fromEntries(hook.events.map((event) => [event, [hook.entry(command ?? '')]])),
    }
    return editOf(program, path, command === undefined ? undefined : `${JSON.stringify(own, null, 2)}\n`)
  }
  const before = textOf(path)
  const parsed = before === undefined ? undefined : parseJson(before)
  if (parsed !== undefined && (isLeft(parsed) || !isObject(parsed.right)))
    return command === undefined && before?.includes(hookMark) !== true
      ? undefined
      : { program, reason: `${path} is not plain JSON, so it was not changed` }
  const settings = (parsed === undefined || isLeft(parsed) ? {} : parsed.right) as JsonObject
  const changed = withHooks(settings, hook, command)
  if (changed === undefined)
    return { program, reason: `the hooks in ${path} have another form, so they were not changed` }
  if (JSON.stringify(changed) === JSON.stringify(settings)) return undefined
  const isEmpty = Object.keys(changed).length === 0
  const indent = /^[[{]\n([ \t]+)/.exec(before ?? '')?.[1] ?? '  '
  const text = `${JSON.stringify(changed, null, indent)}${before?.endsWith('\n') === false ? '' : '\n'}`
  return editOf(program, path, isEmpty && command === undefined ? undefined : text, hook.remark)
}

const editOf = (program: string, path: string, after: string | undefined, remark?: string): FileEdit | undefined => {
  const before = textOf(path)
  return before === after ? undefined : { program, path, before, after, ...(remark !== undefined && { remark }) }
}

export const textOf = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)

/** The settings with our entries, or without them; undefined if the hooks have another form. */
const withHooks = (settings: JsonObject, hook: Hook, command: string | undefined): JsonObject | undefined => {
  const { hooks: found = {}, ...others } = ownFields(settings)
  const rest: JsonObject = ownFields(others)
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
import { spawn } from 'node:child_process'
export default (pi) => {
  const keep = () => spawn('/bin/sh', ['-c', ${JSON.stringify(command)}], { stdio: 'ignore', detached: true }).unref()
  pi.on('agent_end', keep)
  pi.on('session_shutdown', keep)
}
`

/** The file that a path leads to: settings may be links into a folder of one's own. */
export const realPathOf = (path: string): string => {
  if (existsSync(path)) return realpathSync(path)
  const folder = dirname(path)
  return existsSync(folder) ? join(realpathSync(folder), path.slice(folder.length + 1)) : path
}

/** A line about an edit. */
export const editText = ({ program, path, before, after, remark }: FileEdit): string =>
  `${titleOf(program)}: ${after === undefined ? 'removes' : before === undefined ? 'creates' : 'changes'} ${path}${remark === undefined ? '' : ` (${remark})`}`
