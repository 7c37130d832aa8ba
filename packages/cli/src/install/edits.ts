/** Changes of other programs' settings: they are shown, made at once, and can be taken back byte for byte. */
import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { isLeft, isObject, parseJson, type JsonObject } from 'indelible/internal/json'
import { folderOf, settingsIn, titleOf } from '../sources/agent-sessions.ts'
import { unwritable } from '../sources/input.ts'
import { defaultStorePath } from '../sources/store.ts'
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

export const isEdit = (found: FileEdit | Refused | undefined): found is FileEdit =>
  found !== undefined && 'path' in found
export const isRefused = (found: FileEdit | Refused | undefined): found is Refused =>
  found !== undefined && 'reason' in found

export const textOf = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, 'utf8') : undefined)

/** The change that gives a file this text; undefined if it has it. */
export const editOf = (
  program: string,
  path: string,
  after: string | undefined,
  remark?: string,
): FileEdit | undefined => {
  const before = textOf(path)
  return before === after ? undefined : { program, path, before, after, ...(remark !== undefined && { remark }) }
}

/**
 * The change of settings in JSON; undefined if nothing changes. A file that would be left without settings is removed if
 * `removesEmpty`.
 *
 * @param change returns the new settings, or the reason why they can't be changed
 */
export const settingsEdit = (
  program: string,
  path: string,
  change: (settings: JsonObject) => JsonObject | string,
  { removesEmpty, remark }: { readonly removesEmpty: boolean; readonly remark?: string | undefined },
): FileEdit | Refused | undefined => {
  const before = textOf(path)
  const parsed = before === undefined ? undefined : parseJson(before)
  if (parsed !== undefined && (isLeft(parsed) || !isObject(parsed.right)))
    return { program, reason: `${path} is not plain JSON, so it was not changed` }
  const settings = (parsed === undefined || isLeft(parsed) ? {} : parsed.right) as JsonObject
  const changed = change(settings)
  if (typeof changed === 'string') return { program, reason: changed }
  if (JSON.stringify(changed) === JSON.stringify(settings)) return undefined
  const indent = /^[[{]\n([ \t]+)/.exec(before ?? '')?.[1] ?? '  '
  const text = `${JSON.stringify(changed, null, indent)}${before?.endsWith('\n') === false ? '' : '\n'}`
  return editOf(program, path, removesEmpty && Object.keys(changed).length === 0 ? undefined : text, remark)
}

/** A line about an edit. */
export const editText = ({ program, path, before, after, remark }: FileEdit): string =>
  `${titleOf(program)}: ${after === undefined ? 'removes' : before === undefined ? 'creates' : 'changes'} ${path}${remark === undefined ? '' : ` (${remark})`}`

/** A line for a command that is run from the cache of npx; none otherwise. */
export const cachedCommandText = (argv: readonly string[]): readonly string[] =>
  argv.some((word) => word.includes(join('_npx', '')))
    ? ['this command is in the cache of npx, which may be emptied: install indelible to keep it']
    : []

/** Where the edits of an installation are written down. */
const recordPath = (name: string, env: Terminal['env']): string =>
  join(dirname(defaultStorePath(env)), `${name}-install.json`)

/** Whether a command has changed settings, and not taken that back. */
export const hasInstalled = (name: string, env: Terminal['env']): boolean => existsSync(recordPath(name, env))

/** The edits that an installation made, in a file of its own beside the default store. */
export class InstalledEdits {
  readonly #path: string

  /** @param name that of the command: `keep`, `mcp` */
  constructor(name: string, env: Terminal['env']) {
    this.#path = recordPath(name, env)
  }

  /** Make the changes, and remember the texts before and after them. */
  make(edits: readonly FileEdit[]): void {
    const known = this.#read()
    for (const edit of edits) writeEdit(edit)
    const made = edits.map(({ path, before, after }) => [
      path,
      { before: known[path]?.before ?? before ?? null, after: after ?? null },
    ])
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    writeFileSync(this.#path, JSON.stringify({ ...known, ...Object.fromEntries(made) }), { mode: 0o600 })
  }

  /** An edit that removes entries: if nobody changed the file since they were made, it gets the text that it had. */
  undone(edit: FileEdit): FileEdit {
    const known = this.#read()[edit.path]
    return known !== undefined && known.after === edit.before
      ? Object.assign({}, edit, { after: known.before ?? undefined })
      : edit
  }

  /** Take changes back. */
  undo(edits: readonly FileEdit[]): void {
    const known = this.#read()
    for (const edit of edits) writeEdit(edit)
    const rest = Object.entries(known).filter(([path]) => !edits.some((edit) => edit.path === path))
    if (rest.length === 0) rmSync(this.#path, { force: true })
    else writeFileSync(this.#path, JSON.stringify(Object.fromEntries(rest)), { mode: 0o600 })
  }

  #read(): {
    readonly [path: string]: { readonly before: string | null; readonly after: string | null } | undefined
  } {
    const text = textOf(this.#path)
    const parsed = text === undefined ? undefined : parseJson(text)
    return parsed === undefined || isLeft(parsed) || !isObject(parsed.right)
      ? {}
      : (parsed.right as JsonObject as never)
  }
}

/** Replace a file at once, also behind a link, with the mode that it had. */
const writeEdit = ({ path, after }: FileEdit): void => {
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

/** The file that a path leads to: settings may be links into a folder of one's own. */
const realPathOf = (path: string): string => {
  if (existsSync(path)) return realpathSync(path)
  const folder = dirname(path)
  return existsSync(folder) ? join(realpathSync(folder), path.slice(folder.length + 1)) : path
}

/** Whether Claude Code has the plugin of this package, which has the server and the hooks of `keep`. */
export const hasClaudePlugin = (env: Terminal['env']): boolean => {
  const plugins = settingsIn(join(folderOf('claude-code', env), 'settings.json'))['enabledPlugins']
  return (
    isObject(plugins) && Object.entries(plugins).some(([name, isOn]) => name.startsWith('indelible@') && isOn === true)
  )
}
