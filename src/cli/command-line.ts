/** The command line: finds the command, reads its options, and turns failures into messages and exit codes. */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { append } from './append.ts'
import { backup } from './backup.ts'
import { chat } from './chat.ts'
import { check } from './check.ts'
import { Misuse, Unreadable, type Command, type Terminal } from './command.ts'
import { context } from './context.ts'
import { convert } from './convert.ts'
import { exportSessionCommand } from './export.ts'
import { copy } from './copy.ts'
import { fork } from './fork.ts'
import { importFiles } from './import.ts'
import { key } from './key.ts'
import { ledger } from './ledger.ts'
import { list } from './list.ts'
import { terminalOf, type Surroundings } from './output.ts'
import { checkProofFile, prove } from './prove.ts'
import { record } from './record.ts'
import { records } from './records.ts'
import { remove } from './remove.ts'
import { repair } from './repair.ts'
import { replay } from './replay.ts'
import { rewind } from './rewind.ts'
import { show } from './show.ts'
import { tail } from './tail.ts'
import { head, verify } from './verify.ts'

const commands: readonly Command[] = [
  show,
  check,
  convert,
  importFiles,
  list,
  tail,
  append,
  rewind,
  fork,
  copy,
  remove,
  exportSessionCommand,
  verify,
  head,
  repair,
  backup,
  prove,
  checkProofFile,
  ledger,
  key,
  chat,
  record,
  replay,
  context,
  records,
]

const help = `Usage: indelible COMMAND [options]

The append-only record of agent conversations.

Commands:
${commands.map(({ synopsis, purpose }) => `  ${synopsis.padEnd(20)}  ${purpose}`).join('\n')}

Options:
  -h, --help     print this help, or the help of a command
  -V, --version  print the version

indelible COMMAND --help describes a command. A store in PostgreSQL needs the
package pg, and takes its password from PGPASSWORD. Colours are off if NO_COLOR
is set or the output is not a terminal. Exit codes: 0 done, 1 the input can't be
read or is damaged, 2 the arguments are wrong.
`

/**
 * Run a command line.
 *
 * @param args what stands after the program's name
 * @returns the exit code. Rejects only for a defect of the command itself, and with EPIPE where nobody reads any more
 */
export const runCommandLine = async (args: readonly string[], around: Surroundings): Promise<number> => {
  const terminal = terminalOf(around)
  try {
    return (await run(args, terminal)) ?? 0
  } catch (error) {
    if (error instanceof Misuse) {
      terminal.tell([`indelible: ${error.message}`, `Try: indelible ${known(args[0])}--help`])
      return 2
    }
    if (!(error instanceof Unreadable)) throw error
    terminal.tell([`indelible: ${error.message}`])
    return 1
  }
}

const run = async (args: readonly string[], terminal: Terminal): Promise<number | void> => {
  const [first, ...rest] = args
  if (first === undefined) throw new Misuse('no COMMAND given')
  if (first === '-h' || first === '--help') return terminal.print(linesOf(help))
  if (first === 'help') return terminal.print(linesOf(rest[0] === undefined ? help : find(rest[0]).help))
  if (first === '-V' || first === '--version') return terminal.print([version()])
  const command = find(first)
  const { values, positionals } = parse(command, rest)
  if (values['help'] === true) return terminal.print(linesOf(command.help))
  return command.run({ values, positionals, terminal })
}

const linesOf = (text: string): readonly string[] => text.trimEnd().split('\n')

const known = (name = ''): string => (commands.some((command) => command.name === name) ? `${name} ` : '')

const find = (name: string): Command => {
  const command = commands.find((known) => known.name === name)
  if (command === undefined)
    throw new Misuse(
      name.startsWith('-')
        ? `there is no option ${name} before the COMMAND`
        : `there is no command "${name}"; expected one of: ${commands.map((known) => known.name).join(', ')}`,
    )
  return command
}

const parse = (
  command: Command,
  args: readonly string[],
): Pick<Parameters<Command['run']>[0], 'values' | 'positionals'> => {
  try {
    const { values, positionals } = parseArgs({
      args: args.map((arg) => (/^-\d+$/.test(arg) ? number + arg : arg)),
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    })
    return {
      values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, unmarked(value)])),
      positionals: positionals.map(unmarked),
    }
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    throw new Misuse(`${command.name}: ${said.replace(/\. To specify a positional argument.*$/s, '')}`)
  }
}

/** Set before a negative number, which the parser would take for an option. No argument of a process can have it. */
const number = '\0'

const unmarked = <T>(value: T | string): T | string =>
  typeof value === 'string' && value.startsWith(number) ? value.slice(number.length) : value

const version = (): string => {
  const found = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string
  }
  return found.version
}
