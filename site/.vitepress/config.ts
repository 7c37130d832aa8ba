/** The site: README and docs as pages, and the reference that TypeDoc made of the docstrings. `build.ts` calls this. */
import { readdirSync, readFileSync } from 'node:fs'
import { defineConfig, type DefaultTheme } from 'vitepress'

const pages = (folder: string, names: readonly string[]): DefaultTheme.SidebarItem[] =>
  names.map((name) => ({
    text:
      /^# (.+)$/m.exec(readFileSync(new URL(`../.cache/pages/${folder}${name}.md`, import.meta.url), 'utf8'))?.[1] ??
      name,
    link: `/${folder}${name}`,
  }))

const reference = JSON.parse(
  readFileSync(new URL('../.cache/pages/api/typedoc-sidebar.json', import.meta.url), 'utf8'),
) as DefaultTheme.SidebarItem[]

const entryAlone = ({ text = '', link, items = [] }: DefaultTheme.SidebarItem): DefaultTheme.SidebarItem => ({
  text,
  link: link ?? items[0]?.link ?? '/api/',
})

/** Of each entry the names, and of the others the entry alone: a page that listed every name of all would be mostly that list. */
const referenceSidebars: DefaultTheme.SidebarMulti = Object.fromEntries([
  ['/api/', reference.map(entryAlone)],
  ...reference.map(({ text = '' }) => [
    `/api/${text}/`,
    reference.map((entry) =>
      entry.text === text ? Object.assign({}, entry, { collapsed: false }) : entryAlone(entry),
    ),
  ]),
])

const docs = new URL('../.cache/pages/docs', import.meta.url)
const inFolder = (folder: string): readonly string[] =>
  readdirSync(new URL(`../.cache/pages/docs/${folder}`, import.meta.url))
    .map((name) => `${folder}/${name.replace(/\.md$/, '')}`)
    .toSorted()
const adapters = inFolder('adapters')
const starts = inFolder('start')

const guide: DefaultTheme.SidebarItem[] = [
  {
    text: 'Start',
    items: [{ text: 'Indelible', link: '/' }, ...pages('docs/', ['index', ...starts])],
  },
  {
    text: 'The library',
    items: pages('docs/', [
      'history',
      'messages',
      'sessions',
      'tasks',
      'errors',
      'view',
      'command-line',
      'limits',
      'packages',
    ]),
  },
  {
    text: 'Storing and checking',
    items: pages('docs/', ['stores', 'postgres', 'search', 'verify', 'evidence', 'erasure', 'encryption', 'redact']),
  },
  { text: 'What a model is sent', items: pages('docs/', ['contexts', 'pages', 'run']) },
  {
    text: 'Other formats and frameworks',
    items: pages('docs/', [
      'formats',
      'transcripts',
      'continue',
      'refs',
      'workflows',
      'thread',
      'records',
      'recorder',
      ...adapters,
    ]),
  },
  {
    text: 'The project',
    items: [
      ...pages('docs/', ['design', 'architecture', 'origins', 'compare']),
      ...pages('', ['API', 'CHANGELOG', 'CONTRIBUTING', 'SECURITY', 'bench/RESULTS']),
    ],
  },
]

const listed = new Set(guide.flatMap(({ items = [] }) => items.map(({ link }) => link)))
const unlisted = readdirSync(docs, { recursive: true, encoding: 'utf8' })
  .filter((name) => !name.endsWith('.png'))
  .map((name) => `/docs/${name.replaceAll('\\', '/').replace(/\.md$/, '')}`)
  .filter((link, index, all) => !listed.has(link) && !all.some((other) => other.startsWith(`${link}/`)))
if (unlisted.length > 0) throw new Error(`pages that the sidebar does not list: ${unlisted.join(', ')}`)

export default defineConfig({
  title: 'Indelible',
  description: 'The append-only record of an agent conversation',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/favicon.svg' }]],
  srcDir: '.cache/pages',
  outDir: 'dist',
  metaChunk: true, // once for the site instead of in each page
  cacheDir: '.cache/vitepress',
  markdown: { attrs: { disable: true } }, // `{...}` behind a heading is text
  themeConfig: {
    nav: [
      { text: 'Guide', link: '/' },
      { text: 'Reference', link: '/api/' },
    ],
    sidebar: { ...referenceSidebars, '/': guide },
    search: {
      provider: 'local',
      // Guides come before the names of the reference, and before figures and changes. VitePress sends the text of this
      // function to the browser, so it can't use anything outside itself.
      options: {
        // Of the reference only the names are searched: its texts would be most of what a browser has to load.
        _render: (text, env, markdown) =>
          markdown.render(env.relativePath.startsWith('api/') ? (text.match(/^#.*$/gm) ?? []).join('\n\n') : text, env),
        miniSearch: {
          searchOptions: {
            combineWith: 'AND',
            boostDocument: (id: string) =>
              id.includes('/api/') ? 0.05 : /\/(?:API|CHANGELOG|CONTRIBUTING|RESULTS)\b/.test(id) ? 0.2 : 1,
          },
        },
      },
    },
    outline: [2, 3],
  },
})
