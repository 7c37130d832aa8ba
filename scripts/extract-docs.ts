/**
 * The examples in README and docs, as modules that are type-checked and executed with the tests.
 *
 * All `ts` blocks of a page make one module, in order. `expression // => value` checks the value, `statement // throws
 * text` checks that it throws an error with that text; both are of one line. A database that a page opens in the
 * current folder is made beside the modules.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.ts'

/** Write the modules and return their paths. */
export const extractDocs = (): readonly string[] => {
  const target = join(root, '.cache/docs')
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const pages = [
    'README.md',
    ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join('docs', name)),
  ]
  return pages.flatMap((page) => {
    const blocks = [...readFileSync(join(root, page), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map((match) =>
      (match[1] ?? '').replace(/(?<=path: )'([\w-]+\.db)'/g, (_, name: string) => JSON.stringify(join(target, name))),
    )
    if (blocks.length === 0) return []
    const path = join(target, `${page.replaceAll(/[/\\]/g, '-').replace(/\.md$/, '')}.ts`)
    writeFileSync(
      path,
      `// The examples of ${page}\nimport { check, checkAwaited, checkRejects, checkThrows } from '../../test/example.ts'\n${blocks.map(checked).join('\n')}\nvoid [check, checkAwaited, checkRejects, checkThrows]\n`,
    )
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
          ? isAsync(expression)
            ? `${indent}await checkAwaited(async () => (${expression}), ${expected})`
            : `${indent}check(() => (${expression}), ${expected})`
          : `${line}\n${indent}check(() => ${name}, ${expected})`
      }
      const thrown = /^(\s*)(.*\S)\s+\/\/ throws (.+)$/.exec(line)
      if (thrown === null) return line
      const [, indent, statement, text] = thrown
      return isAsync(statement)
        ? `${indent}await checkRejects(async () => { ${statement} }, ${JSON.stringify(text)})`
        : `${indent}checkThrows(() => { ${statement} }, ${JSON.stringify(text)})`
    })
    .join('\n')

/** Of the page itself: an `await` in a function of its own does not count. */
const isAsync = (code: string | undefined): boolean => /\bawait\b/.test((code ?? '').replaceAll(/\basync\b.*/g, ''))

if (import.meta.main) {
  extractDocs()
  // The check of everything must find a page that is out of date, so it asks for the examples alone.
  if (!process.argv.includes('--examples')) await (await import('./command-page.ts')).writeCommandPage()
}
