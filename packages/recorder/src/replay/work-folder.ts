/** The folder that an agent works in, and the names that programs derive from it. */
import type { Json } from 'indelible/internal/json'
import type { RecordedRequestFacts } from './recorded-calls.ts'

/** A work folder, as the requests of its agent name it. */
export interface WorkFolder {
  readonly path: string
  /** The name of the folder that programs have for it below another: `-home-a-b` for `/home/a/b`. */
  readonly slug: string
  /** The name that Gemini CLI has for it in `.gemini/tmp`; undefined if the requests do not name that. */
  readonly project: string | undefined
}

/**
 * The folder that a request names as the one that its agent works in.
 *
 * Source  the prompts of Claude Code 2.1.330, Codex 0.169.0, opencode 1.18.33 and Gemini CLI 0.61.0 (2026-11)
 */
export const folderOf = ({
  system,
  messages,
}: Pick<RecordedRequestFacts, 'system' | 'messages'>): WorkFolder | undefined => {
  const values = [system ?? '', ...messages.slice(0, 8).map(({ content }) => content as unknown as Json)]
  const texts = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
  for (const text of texts) {
    const line = folderLine.exec(text)?.[1]
    const found = line === undefined || /[.,;:] /.test(line) ? folderName.exec(text) : undefined
    const path = (found === undefined ? line : (found?.[1] ?? found?.[2]))?.replace(/[/.]$/, '')
    if (path !== undefined && path.length > 1)
      return { path, slug: path.replaceAll(/[^a-zA-Z\d]/g, '-'), project: projectOf(path, texts) }
  }
  return undefined
}

/** A path that is the rest of a line, so that it may have spaces. */
const folderLine = /(?:working directory|workspace directories):\**(?:\s|\\n|-)*(\/[^\n"'`<\\]+?)\s*(?:\n|\\n|"|$)/i

const folderName =
  /<cwd>(\/[^<"\\]+)<\/cwd>|working (?:directory|in the (?:following )?director(?:y|ies)):?(?:\s|\\n|[-*`'])*(\/[^\s"'`<\\]+)/i

const temporaryFolder = /temporary directory is: \/[^\n"\\]*\/\.gemini\/tmp\/([a-z\d-]+)(?![^\s"\\])/

/** The project of a path, if the texts name it: the last name of the path, with a number if another folder has that. */
const projectOf = (path: string, texts: readonly string[]): string | undefined => {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const slug = name.replaceAll(/[^a-z\d]+/g, '-').replaceAll(/^-|-$/g, '') || 'project'
  const project = texts.map((text) => temporaryFolder.exec(text)?.[1]).find((found) => found !== undefined)
  const isOwn = project?.startsWith(slug) === true && /^(?:-\d+)?$/.test(project.slice(slug.length))
  return isOwn ? project : undefined
}

export const isSameFolder = (a: WorkFolder | undefined, b: WorkFolder | undefined): boolean =>
  a?.path === b?.path && a?.project === b?.project

/** A text with the names of another folder in place of those of one. Paths that only begin or end like these stay. */
export const withFolder = (text: string, from: WorkFolder, to: WorkFolder): string =>
  text.replaceAll(patternOf(from), (found, path?: string, slug?: string) =>
    path !== undefined ? to.path : slug !== undefined ? to.slug : (to.project ?? found),
  )

const patterns = new WeakMap<WorkFolder, RegExp>()

const patternOf = (folder: WorkFolder): RegExp => {
  const known = patterns.get(folder)
  if (known !== undefined) return known
  const { path, slug, project } = folder
  const names = [
    `${beforePath}(${escaped(path)})${afterPath}`,
    `(?<=/)(${escaped(slug)})${afterName}`,
    ...(project === undefined ? [] : [`(?<=/\\.gemini/tmp/)${escaped(project)}${afterName}`]),
  ]
  const pattern = new RegExp(names.join('|'), 'gu')
  patterns.set(folder, pattern)
  return pattern
}

/** No part of a longer path; an escape in JSON, an option such as `-I`, a colour and macOS's `/private` may come before. */
const beforePath = String.raw`(?:(?<![\p{L}\p{N}_.~@+-])|(?<=\\[nrt])|(?<=[\s"'=]-[A-Za-z])|(?<=\u001b\[[\d;]*m)|(?<=^/private|[^\p{L}\p{N}_.~@+-]/private))`
const afterPath = String.raw`(?![\p{L}\p{N}_~@+-]|\.[\p{L}\p{N}])`
const afterName = String.raw`(?![\p{L}\p{N}_.~@+-])`

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
