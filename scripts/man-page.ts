/** The man page of `indelible`, made of the table that `--help` is made of. Run as a program it writes it into the built package. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { groups } from '../packages/cli/src/commands.ts'
import { general, optionsOf, paragraphsOf } from '../packages/cli/src/terminal/help.ts'
import type { Command } from '../packages/cli/src/terminal/command.ts'
import { packages } from './packages.ts'
import { root } from './run.ts'

/** The page in the language of man(7). */
export const manPage = (version: string): string =>
  [
    `.TH INDELIBLE 1 "" "indelible ${version}" "User Commands"`,
    '.SH NAME',
    text('indelible - the append-only record of agent conversations'),
    '.SH SYNOPSIS',
    String.raw`.B indelible`,
    String.raw`\fICOMMAND\fR [options]`,
    '.SH DESCRIPTION',
    ...general.flatMap((paragraph) => ['.PP', text(paragraph)]),
    ...groups.flatMap(({ title, commands }) => [`.SH ${text(title.toUpperCase())}`].concat(commands.flatMap(section))),
  ].join('\n') + '\n'

const section = (command: Command): readonly string[] => [
  `.SS ${text(command.name)}`,
  ...lines(command.usage.map((usage) => `indelible ${usage}`)),
  ...paragraphsOf(command.about).flatMap((paragraph) =>
    paragraph.lines === undefined ? ['.PP', text(paragraph.text)] : lines(paragraph.lines),
  ),
  ...optionsOf(command).flatMap(({ flag, help }) => ['.TP', String.raw`\fB${text(flag)}\fR`, text(help)]),
  ...lines(command.examples ?? []),
]

/** Lines that stay as they are. */
const lines = (given: readonly string[]): readonly string[] =>
  given.length === 0 ? [] : ['.PP', '.nf', ...given.map(text), '.fi']

/** What would be read as a request or an escape is escaped; a hyphen stays one, so that an option can be copied. */
const text = (given: string): string =>
  given
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll(/^[.']/gm, String.raw`\&$&`)
    .replaceAll('…', String.raw`\[u2026]`)

if (import.meta.main) {
  const version = packages[0]?.manifest.version ?? ''
  writeFileSync(join(root, 'packages/cli/dist/indelible.1'), manPage(version))
}
