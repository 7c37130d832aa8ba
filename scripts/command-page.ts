/**
 * docs/command-line.md: every command with its options and examples, made of the table that `--help` is made of. Run as a
 * program it writes the page.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'oxfmt'
import type { Command } from '../packages/cli/src/terminal/command.ts'
import { groups } from '../packages/cli/src/commands.ts'
import { general, optionsOf, paragraphsOf } from '../packages/cli/src/terminal/help.ts'
import { wrapText } from '../packages/cli/src/terminal/screen.ts'
import { root } from './run.ts'

/** Where the page stands. */
export const commandPagePath: string = join(root, 'docs/command-line.md')

/** The page as it should be. */
export const commandPage = async (): Promise<string> => {
  const { code, errors } = await format(commandPagePath, pageText(), { embeddedLanguageFormatting: 'off' })
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'))
  return code
}

const pageText = (): string =>
  [
    '# The command line',
    'The package has one command, `indelible`. This page and `indelible --help` are generated from the same table.',
    ...general.map(prose),
    ...groups.map(({ title, commands }) =>
      [`**${title}**`, ['| command | does |', '| --- | --- |', ...commands.map(row)].join('\n')].join('\n\n'),
    ),
    ...groups.flatMap(({ commands }) => commands.map(section)),
  ].join('\n\n')

const row = ({ name, synopsis, purpose }: Command): string =>
  `| [\`${cell(synopsis)}\`](#indelible-${name}) | ${cell(prose(purpose))} |`

const section = (command: Command): string =>
  [
    `## \`indelible ${command.name}\``,
    block(
      'sh',
      command.usage.map((line) => `indelible ${line}`),
    ),
    ...paragraphsOf(command.about).map(({ text, lines }) =>
      lines === undefined
        ? prose(text)
        : block(
            'text',
            lines.map((line) => line.slice(2)),
          ),
    ),
    [
      '| option | meaning |',
      '| --- | --- |',
      ...optionsOf(command).map(({ flag, help }) => `| \`${cell(flag)}\` | ${cell(prose(help))} |`),
    ].join('\n'),
    ...(command.examples === undefined ? [] : [block('sh', command.examples)]),
  ].join('\n\n')

const block = (language: string, lines: readonly string[]): string => `\`\`\`${language}\n${lines.join('\n')}\n\`\`\``

/** A text of the help as Markdown, in lines of the page's width: commands in it become code. */
const prose = (text: string): string =>
  wrapText(
    text
      .replaceAll(/[<*\\]/g, String.raw`\$&`)
      .replaceAll(/"(indelible [^"]+)"/g, (_, command: string) => `\`${command.replaceAll('\\', '')}\``),
    118,
  ).join('\n')

const cell = (text: string): string => text.replaceAll('\n', ' ').replaceAll('|', String.raw`\|`)

/** Write the page, if it is not what it should be. */
export const writeCommandPage = async (): Promise<void> => {
  const page = await commandPage()
  if (page !== currentPage()) writeFileSync(commandPagePath, page)
}

/** The page as it is; empty if it is missing. */
export const currentPage = (): string => {
  try {
    return readFileSync(commandPagePath, 'utf8')
  } catch {
    return ''
  }
}

if (import.meta.main) await writeCommandPage()
