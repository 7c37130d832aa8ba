/** Three read-only tools for a single folder: list, read, search. */
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, relative, sep } from 'node:path'
import { tool, type Tool } from 'indelible/run'

/** The limits for the text of a file, the entries of a list, and the matches of a search. */
const maxBytes = 64 * 1024
const maxEntries = 500
const maxMatches = 100
const ignoredNames: ReadonlySet<string> = new Set(['.git', 'node_modules'])

/** @param folder the folder; a link is resolved */
export const folderTools = async (folder: string): Promise<readonly Tool[]> => {
  const top = await realpath(folder)
  const resolveInFolder = (path: unknown): Promise<string> => resolveInside(top, path)
  const path = { type: 'string', description: 'A path inside the folder; "." is the folder itself.' }
  return [
    tool({
      name: 'list',
      description: 'List a folder: one entry a line. Folders end with a slash.',
      parameters: { type: 'object', properties: { path } },
      run: async (input) => listFolder(await resolveInFolder(field(input, 'path') ?? '.')),
    }),
    tool({
      name: 'read',
      description: `Read a text file, up to ${maxBytes / 1024} kB of it from line "from" on.`,
      parameters: { type: 'object', properties: { path, from: { type: 'integer', minimum: 1 } }, required: ['path'] },
      run: async (input) =>
        readFileFrom(await resolveInFolder(field(input, 'path')), Number(field(input, 'from') ?? 1)),
    }),
    tool({
      name: 'search',
      description: 'Find lines that contain a text, in all text files of a folder. Gives path:line: text.',
      parameters: { type: 'object', properties: { text: { type: 'string' }, path }, required: ['text'] },
      run: async (input, { signal }) =>
        searched(top, await resolveInFolder(field(input, 'path') ?? '.'), String(field(input, 'text') ?? ''), signal),
    }),
  ]
}

const field = (input: unknown, name: string): unknown =>
  typeof input === 'object' && input !== null ? (input as { readonly [key: string]: unknown })[name] : undefined

/** The target of a path, with links resolved. Throws if it is not in the folder. */
const resolveInside = async (top: string, path: unknown): Promise<string> => {
  if (typeof path !== 'string' || path === '') throw new Error('give a path')
  if (path.includes('\0')) throw new Error('a path must not contain NUL')
  const way = relative(top, join(top, path))
  // Checked before reading the file system, so that the model can't find out whether an outside file exists.
  if (leaves(way)) throw new Error(`${JSON.stringify(path)} is outside the folder`)
  let found: string
  try {
    found = await realpath(join(top, path))
  } catch {
    throw new Error(`there is no ${JSON.stringify(path)} in the folder`)
  }
  if (leaves(relative(top, found))) throw new Error(`${JSON.stringify(path)} is a link that leads outside the folder`)
  return found
}

const leaves = (way: string): boolean => way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)

const listFolder = async (path: string): Promise<string> => {
  const entries = await readdir(path, { withFileTypes: true })
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted()
  const shown = names.slice(0, maxEntries)
  return (
    [...shown, ...(names.length > shown.length ? [`(${names.length - shown.length} more)`] : [])].join('\n') ||
    '(empty)'
  )
}

const readFileFrom = async (path: string, from: number): Promise<string> => {
  const { size } = await stat(path)
  const text = await textOf(path, Math.min(size, 16 * 1024 * 1024))
  if (text === undefined) return '(not a text file)'
  const lines = text.split('\n').slice(Math.max(0, from - 1))
  let shown = ''
  for (const [index, line] of lines.entries()) {
    if (index === 0 && line.length > maxBytes)
      return `${line.slice(0, maxBytes)}(cut here: the rest of this line is left out; read on from line ${Math.max(1, from) + 1})`
    if (shown.length + line.length > maxBytes)
      return `${shown}(cut here: ${lines.length - index} more lines; read on from line ${Math.max(1, from) + index})`
    shown += index === lines.length - 1 ? line : `${line}\n`
  }
  return shown
}

const searched = async (top: string, path: string, text: string, signal: AbortSignal): Promise<string> => {
  if (text === '') throw new Error('give a text to look for')
  const matches: string[] = []
  for await (const file of filesOf(path)) {
    signal.throwIfAborted()
    const content = await textOf(file, 1024 * 1024)
    if (content?.includes(text) !== true) continue
    for (const [index, line] of content.split('\n').entries()) {
      if (!line.includes(text)) continue
      if (matches.length === maxMatches)
        return [...matches, `(more than ${maxMatches} matches: look for something longer)`].join('\n')
      matches.push(`${relative(top, file)}:${index + 1}: ${line.trim().slice(0, 200)}`)
    }
  }
  return matches.length === 0 ? '(no line has it)' : matches.join('\n')
}

/** Files only, not links: a link may point outside. */
async function* filesOf(path: string): AsyncGenerator<string> {
  if (!(await stat(path)).isDirectory()) return yield path
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory() && !ignoredNames.has(entry.name)) yield* filesOf(join(path, entry.name))
    else if (entry.isFile()) yield join(path, entry.name)
  }
}

/** The start of a file as text; undefined if it is not text. */
const textOf = async (path: string, most: number): Promise<string | undefined> => {
  const file = await open(path)
  try {
    const buffer = Buffer.alloc(Math.min(most, (await file.stat()).size))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    const bytes = buffer.subarray(0, bytesRead)
    return bytes.includes(0) ? undefined : bytes.toString('utf8')
  } finally {
    await file.close()
  }
}
