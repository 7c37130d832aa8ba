/**
 * `npm run site`: build the documentation as a static site in `site/dist`. It fails if a name has no docstring, a page is
 * missing from the sidebar, or a link leads to a missing file, page, heading or name.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { entries } from '../scripts/packages.ts'
import { publicNames } from '../test/docstrings.ts' // members too: TypeDoc counts those of nested types

const site = import.meta.dirname
const root = dirname(site)
const pages = join(site, '.cache/pages')

const fail = (reason: string): never => {
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

const run = (tool: string, args: readonly string[]): void => {
  const { status } = spawnSync(join(site, 'node_modules/.bin', tool), args, { cwd: site, stdio: 'inherit' })
  if (status !== 0) fail(`${tool} failed`)
}

/** The pages of the site, by their paths in the project. */
const sources = [
  'README.md',
  'API.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/RESULTS.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
]

/** Links of the pages to files that do not exist. */
const missing: string[] = []

/** Links between pages stay; README is the first page. A link to another file (a test, a folder) becomes its path as code. */
const relinked = (text: string, page: string): string =>
  text.replaceAll(
    /(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g,
    (_, label: string, path: string, anchor = '') => {
      const target = relative(root, resolve(root, dirname(page), path)).replaceAll('\\', '/')
      if (!existsSync(join(root, target))) missing.push(`${page}: ${path}`)
      if (!sources.includes(target)) return label.includes('`') ? label : `${label} (\`${target}\`)`
      const to = relative(dirname(page), target === 'README.md' ? 'index.md' : target).replaceAll('\\', '/')
      return `[${label}](${to.startsWith('.') ? to : `./${to}`}${anchor})`
    },
  )

rmSync(pages, { recursive: true, force: true })
for (const page of sources) {
  const to = join(pages, page === 'README.md' ? 'index.md' : page)
  mkdirSync(dirname(to), { recursive: true })
  writeFileSync(to, relinked(readFileSync(join(root, page), 'utf8'), page))
}

// The pictures of pages, beside them.
for (const name of readdirSync(join(root, 'docs')))
  if (name.endsWith('.png')) cpSync(join(root, 'docs', name), join(pages, 'docs', name))

// Files at the root of the site.
mkdirSync(join(pages, 'public'), { recursive: true })
cpSync(join(site, 'favicon.svg'), join(pages, 'public/favicon.svg'))

if (missing.length > 0) fail(`links to files that do not exist:\n${missing.join('\n')}`)

writeFileSync(
  join(site, '.cache/typedoc.json'),
  JSON.stringify({
    name: 'Reference',
    entryPoints: entries.map(({ source }) => source),
    basePath: root,
    displayBasePath: root,
    tsconfig: join(site, 'tsconfig.json'),
    plugin: ['typedoc-plugin-markdown', 'typedoc-vitepress-theme'],
    out: join(pages, 'api'),
    docsRoot: pages,
    readme: 'none',
    disableSources: true,
    skipErrorChecking: true, // the project's own compiler has checked the types
    excludeExternals: true, // members that a type has from a provider's client
    excludePrivate: true,
    excludeInternal: true,
    blockTags: ['@param', '@returns', '@throws', '@example', '@typeParam', '@see', '@remarks', '@default', '@module'],
    validation: { notExported: false, invalidLink: true, notDocumented: true },
    requiredToBeDocumented: ['Function', 'Class', 'Interface', 'TypeAlias', 'Variable', 'Accessor'],
    treatValidationWarningsAsErrors: true,
  }),
)
const lacking = publicNames().filter(({ documented }) => !documented)
if (lacking.length > 0) fail(`without a docstring:\n${lacking.map(({ place }) => place).join('\n')}`)
run('typedoc', ['--options', join(site, '.cache/typedoc.json')])
// Costs, errors and sources stand one a line in docstrings.
for (const name of readdirSync(join(pages, 'api'), { recursive: true, encoding: 'utf8' }))
  if (name.endsWith('.md')) {
    const path = join(pages, 'api', name)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replaceAll(/^(Cost|Throws|Source) {2,}/gm, '\n**$1:** '))
  }
run('vitepress', ['build']) // checks links to pages

// Links to headings: VitePress doesn't check them.
const html = new Map<string, string>()
for (const name of readdirSync(join(site, 'dist'), { recursive: true, encoding: 'utf8' }))
  if (name.endsWith('.html')) html.set(`/${name.replaceAll('\\', '/')}`, readFileSync(join(site, 'dist', name), 'utf8'))
const lost = new Set<string>()
for (const [page, text] of html)
  for (const [, href = ''] of text.matchAll(/href="([^"]*#[^"]+)"/g)) {
    const url = new URL(href, `http://site${page}`)
    if (url.host !== 'site') continue
    const target = html.get(url.pathname.endsWith('/') ? `${url.pathname}index.html` : url.pathname)
    const id = decodeURIComponent(url.hash.slice(1))
    if (target === undefined || !target.includes(`id="${id}"`)) lost.add(`${page}: ${href}`)
  }
// For programs that read: each page as Markdown beside its HTML, and a list of all.
const indexed = sources.map((page) => {
  const text = readFileSync(join(pages, page === 'README.md' ? 'index.md' : page), 'utf8')
  const to = page === 'README.md' ? 'index.md' : page
  mkdirSync(dirname(join(site, 'dist', to)), { recursive: true })
  writeFileSync(join(site, 'dist', to), text)
  const [, title = page] = /^# (.+)$/m.exec(text) ?? []
  const [, first = ''] = /^(?!#|```|[|!<-])(\S[^\n]*(?:\n(?!\n)[^\n]+)*)/m.exec(text) ?? []
  const sentence = /^[^]*?[.!?](?=\s|$)/.exec(first.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replaceAll('\n', ' '))
  return `- [${title}](/${to})${sentence ? `: ${sentence[0]}` : ''}`
})
writeFileSync(join(site, 'dist/llms.txt'), `# Indelible\n\n${indexed.join('\n')}\n`)
if (lost.size > 0) fail(`links that lead nowhere:\n${[...lost].join('\n')}`)
cpSync(join(root, 'LICENSE'), join(site, 'dist/LICENSE'))
process.stdout.write(`${html.size} pages in ${join(site, 'dist')}\n`)
