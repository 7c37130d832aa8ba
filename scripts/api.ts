/**
 * API.md: every entry of every package, with the names that it exports, their signatures, and the fields of options. Run as a program (`npm run api`) it writes the page;
 * a test fails if the page is not what it should be, so a change of the public surface is seen in review.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'vite'
import { entries, packages, type Entry } from './packages.ts'
import { root } from './run.ts'
import { optionsOf, signaturesOf } from './signature.ts'

/** Where the page stands. */
export const apiPath: string = join(root, 'API.md')

/** The names that an entry exports, in order: what is there at run time, and types. */
export interface Names {
  readonly values: readonly string[]
  readonly types: readonly string[]
}

/** The names that an entry exports. An index holds named re-exports only. */
export const namesOf = ({ source }: Entry): Names => {
  const { module } = parseSync(source, readFileSync(source, 'utf8'))
  const found = module.staticExports.flatMap((statement) => statement.entries)
  const named = (isType: boolean): readonly string[] =>
    found
      .flatMap((one) => (one.isType === isType && one.exportName.name !== null ? [one.exportName.name] : []))
      .toSorted()
  return { values: named(false), types: named(true) }
}

/** The number of types of all entries: one that two entries export counts twice. */
export const apiTypes = (): number => entries.reduce((sum, entry) => sum + namesOf(entry).types.length, 0)

/** The page as it should be. */
export const apiPage = (): string => {
  const all = entries.map((entry) => Object.assign({ name: entry.name, source: entry.source }, namesOf(entry)))
  const count = (kind: keyof Names): number => all.reduce((sum, one) => sum + one[kind].length, 0)
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ') || 'none'
  return [
    '# The public names',
    `${count('values')} values and ${count('types')} types in ${all.length} entries of ${packages.length} packages. Written by \`npm run api\`.`,
    ...all.map(({ name, source, values, types }) => {
      const signatures = values.flatMap((value) => signaturesOf(source, value).toSorted())
      const options = [...optionsOf(source, [...values, ...types])]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([type, fields]) => `${type}\n${fields.map((field) => `  ${field}`).join('\n')}`)
      const code = [signatures.join('\n'), ...options].filter((text) => text !== '').join('\n\n')
      return `## \`${name}\`\n\n${code && `\`\`\`text\n${code}\n\`\`\`\n\n`}Types: ${list(types)}`
    }),
  ]
    .join('\n\n')
    .concat('\n')
}

if (import.meta.main) writeFileSync(apiPath, apiPage())
