/**
 * The examples in README and docs, as modules that are type-checked and executed with the tests.
 *
 * All `ts` blocks of a page make one module, in order. `expression // => value` checks the value, `statement // throws
 * text` checks that it throws an error with that text; both are of one line.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.ts'

/** Write the modules and return their paths. */
export const extractDocs = (): readonly string[] => {
  const target = join(root, '.cache/docs')
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => join('docs', name))]
  return pages.flatMap((page) => {
    const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => match[1] ?? '')
    if (blocks.length === 0) return []
    const path = join(target, `${page.replaceAll(/[/\\]/g, '-').replace(/\.md$/, '')}.ts`)
    writeFileSync(path, `// The examples of ${page}\nimport { check, checkThrows } from '../../test/example.ts'\n${blocks.map(checked).join('\n')}\nvoid [check, checkThrows]\n`)
    return [path]
  })
}

const checked = (block: string): string =>
  block
    .split('\n')
    .map((line) => {
      const value = /^(\s*)(?:const (\w+)(?:: \S+)? = )?(.*\S)\s+\/\/ => (.+)$/.exec(line)
      if (value !== null) {
        const [, indent, name, expression, expected] = value
        return name === undefined
          ? `${indent}check(() => (${expression}), ${expected})`
          : `${line}\n${indent}check(() => ${name}, ${expected})`
      }
      const thrown = /^(\s*)(.*\S)\s+\/\/ throws (.+)$/.exec(line)
      return thrown === null ? line : `${thrown[1]}checkThrows(() => { ${thrown[2]} }, ${JSON.stringify(thrown[3])})`
    })
    .join('\n')

if (import.meta.main) extractDocs()
