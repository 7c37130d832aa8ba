/** The help of the program and of each command, generated from the table of commands. */
import type { Command, Group } from './command.ts'
import { wrapHanging, wrapText } from './screen.ts'

/** The most columns of help, so that it fits any terminal. */
const mostColumns = 80

/** The help of the program: its commands and the general rules. */
export const programHelp = (groups: readonly Group[], columns: number = mostColumns): readonly string[] => [
  'Usage: indelible COMMAND [options]',
  '',
  ...wrapText('The append-only record of agent conversations.', Math.min(mostColumns, columns)),
  ...groups.flatMap(({ title, commands }) => [
    '',
    `${title}:`,
    ...commands.flatMap(({ synopsis, purpose }) => rowOf(synopsis, purpose, 24, columns)),
  ]),
  '',
  'Options:',
  ...rowOf('-h, --help', 'print this help, or the help of a command', 17, columns),
  ...rowOf('-V, --version', 'print the version', 17, columns),
  ...general.flatMap((text) => [''].concat(wrapText(text, Math.min(mostColumns, columns)))),
]

/** The help for a call without a command: the commands that most people start with. */
export const firstHelp = (commands: readonly Command[], columns: number = mostColumns): readonly string[] => [
  'Usage: indelible COMMAND [options]',
  '',
  ...wrapText('The append-only record of agent conversations. The first commands:', Math.min(mostColumns, columns)),
  '',
  ...commands
    .filter(({ name }) => firstCommands.has(name))
    .flatMap(({ synopsis, purpose }) => rowOf(synopsis, purpose, 24, columns)),
  '',
  ...wrapText(
    '"indelible --help" lists all commands. "indelible COMMAND --help" describes one.',
    Math.min(mostColumns, columns),
  ),
]

const firstCommands: ReadonlySet<string> = new Set([
  'import',
  'record',
  'keep',
  'list',
  'search',
  'show',
  'spend',
  'view',
  'continue',
])

/** A name and its meaning, side by side; on a narrow terminal, one below the other. */
const rowOf = (name: string, text: string, column: number, columns: number): readonly string[] => {
  const width = Math.min(mostColumns, columns)
  const isNarrow = width < column + leastBeside
  const lines = wrapText(text, isNarrow ? width - 4 : width - column)
  if (isNarrow) return [`  ${name}`, ...lines.map((line) => `    ${line}`)]
  return lines.map((line, index) => (index === 0 ? `  ${name}` : '').padEnd(column) + line)
}

/** The fewest columns for text beside a name. */
const leastBeside = 30

export const general: readonly string[] = [
  '"indelible COMMAND --help" describes a command. A SESSION is the id of a session, or the beginning of an id if only one session has it. A command that only reads one session takes the latest one if you name none.',
  "Sessions are kept in the store that --store or the variable INDELIBLE_STORE names: a file, or postgres://USER@HOST/DATABASE?schema=NAME. Otherwise it is sessions.db in the user's data folder. A store in PostgreSQL needs the package pg, and takes its password from PGPASSWORD.",
  "Colours are off if NO_COLOR is set or the output is not a terminal. Exit codes: 0 done; 1 failed or only partly done (the input can't be read, part of a session or file is damaged, or you did not answer yes); standard error says what is damaged; 2 wrong arguments; 130 ended by Ctrl-C. A command that runs until Ctrl-C ends with 0.",
]

export const commandHelp = (command: Command, columns: number = mostColumns): readonly string[] => {
  const { usage, about, examples = [] } = command
  const options = optionsOf(command)
  const width = Math.min(mostColumns, columns)
  const column = Math.max(17, ...options.map(({ flag }) => 2 + flag.length + 2))
  return [
    ...usage.flatMap((line, index) => wrapHanging(`${index === 0 ? 'Usage:' : '      '} indelible ${line}`, width, 9)),
    '',
    ...paragraphsOf(about).flatMap(({ text, lines, apart }, index) =>
      (index > 0 && apart ? [''] : []).concat(
        lines?.flatMap((line) => wrapHelpLine(line, width)) ?? wrapText(text, width),
      ),
    ),
    '',
    'Options:',
    ...options.flatMap(({ flag, help }) => rowOf(flag, help, column, columns)),
    ...(examples.length === 0 ? [] : ['', 'Example:', ...examples.map((line) => `  ${line}`)]),
  ]
}

/** A preformatted line. The second of two columns is wrapped if needed, a command never: people copy it. */
const wrapHelpLine = (line: string, columns: number): readonly string[] => {
  const [start] = /^ *(?:\S+ )*?\S* {2,}(?=\S)/.exec(line) ?? []
  return start === undefined ? [line] : wrapHanging(line, columns, start.length)
}

/** The options of a command as typed, with their help. */
export const optionsOf = ({
  options,
}: Pick<Command, 'options'>): readonly { readonly flag: string; readonly help: string }[] => [
  ...Object.entries(options).map(([name, { value, help }]) => ({
    flag: `--${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  })),
  { flag: '-h, --help', help: 'print this help' },
]

/** A paragraph to wrap, or preformatted lines. */
interface Paragraph {
  readonly text: string
  readonly lines?: readonly string[]
  /** Whether an empty line comes before it. */
  readonly apart: boolean
}

export const paragraphsOf = (about: string): readonly Paragraph[] =>
  about
    .trim()
    .split('\n\n')
    .flatMap((block) => {
      const paragraphs: Paragraph[] = []
      for (const line of block.split('\n')) {
        const last = paragraphs.at(-1)
        const kept = line.startsWith(' ')
        if (last !== undefined && kept === (last.lines !== undefined))
          paragraphs[paragraphs.length - 1] = {
            ...last,
            text: `${last.text} ${line}`,
            ...(last.lines && { lines: [...last.lines, line] }),
          }
        else paragraphs.push({ text: line, ...(kept && { lines: [line] }), apart: last === undefined })
      }
      return paragraphs
    })
