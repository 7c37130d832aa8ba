/** The command line: finds the command, reads its options, and turns failures into messages and exit codes. */
import { parseArgs } from 'node:util'
import { reasonOf } from 'indelible/internal/task'
import { didYouMean, withPlace } from './sources/advice.ts'
import { formOf, Interrupted, Misuse, Unreadable, type Call, type Command, type Terminal } from './terminal/command.ts'
import { commands, groups } from './commands.ts'
import { formerNames, formerOptions } from './former-names.ts'
import { commandHelp, firstHelp, programHelp } from './terminal/help.ts'
import { systemError } from './terminal/system-error.ts'
import { version } from './terminal/version.ts'
import { terminalOf, type Surroundings } from './terminal/output.ts'

/**
 * Run a command line.
 *
 * @param args the arguments after the program's name
 * @returns the exit code. Rejects only for a bug in the command, or if standard output can't be written
 */
export const runCommandLine = async (args: readonly string[], around: Surroundings): Promise<number> => {
  let terminal = terminalOf(around)
  try {
    const [first, ...rest] = args
    const command = first === undefined || isGeneral.has(first) ? undefined : find(first)
    if (command === undefined) return (await runGeneralOption(args, terminal)) ?? 0
    const { values, positionals } = parse(command, rest)
    if (values['help'] === true) return (await terminal.printWhole(commandHelp(command, terminal.columns))) ?? 0
    if (positionals.length > 0 && command.usage.every((usage) => usage === `${command.name} [options]`))
      throw new Misuse(`${command.name} takes no arguments, but got ${positionals.join(', ')}`)
    checkForm(command, values)
    const { tell, tellDamage } = terminal
    const advice = (line: string): string => withPlace(line, values, commands)
    terminal = {
      ...terminal,
      tell: (texts) => tell(Array.from(texts, advice)),
      tellDamage: (texts) => tellDamage(texts.map(advice)),
    }
    return (await command.run({ values, positionals, terminal }, commands)) ?? (terminal.hasDamage() ? 1 : 0)
  } catch (error) {
    if (error instanceof Interrupted) return 130
    if (error instanceof Misuse) {
      terminal.tell([`indelible: ${error.message}`, `Try: indelible ${commandPrefix(args[0])}--help`])
      return 2
    }
    const failure = error instanceof Unreadable ? error : systemError(error)
    if (failure === undefined) throw error
    terminal.tell([`indelible: ${failure.message}`])
    return failure.exitCode
  }
}

const isGeneral: ReadonlySet<string> = new Set(['-h', '--help', 'help', '-V', '--version'])

/** The options that work without a command. */
const runGeneralOption = async ([first, named]: readonly string[], terminal: Terminal): Promise<number | void> => {
  if (first === undefined) {
    terminal.tell(firstHelp(commands, terminal.columns))
    return 2
  }
  if (first === '-V' || first === '--version') return terminal.print([version()])
  const command = first === 'help' && named !== undefined ? find(named) : undefined
  const { columns } = terminal
  return terminal.printWhole(command === undefined ? programHelp(groups, columns) : commandHelp(command, columns))
}

/** The name of the command, or of the one that a former name stands for, for a line of help. */
const commandPrefix = (name = ''): string => {
  const successor = Object.hasOwn(formerNames, name) ? formerNames[name] : undefined
  const known = successor === undefined ? name : /^"indelible (\S+)/.exec(successor)?.[1]
  return commands.some((command) => command.name === known) ? `${known} ` : ''
}

const find = (name: string): Command => {
  const command = commands.find((known) => known.name === name)
  const successor = Object.hasOwn(formerNames, name) ? formerNames[name] : undefined
  if (successor !== undefined) throw new Misuse(`"${name}" is now ${successor}`)
  if (command === undefined)
    throw new Misuse(
      name.startsWith('-')
        ? `there is no option ${name} before the COMMAND`
        : `there is no command "${name}"${didYouMean(
            name,
            commands.map((known) => known.name),
          )}`,
    )
  return command
}

/** Throws Misuse for an option that does not go with the form that the options choose. */
const checkForm = (command: Command, values: Call['values']): void => {
  const form = formOf(command, (option) => values[option] !== undefined)
  const other = form && Object.keys(values).find((option) => !form.options.includes(option))
  if (form === undefined || other === undefined) return
  const forms = Object.entries(command.forms ?? {}).filter(([, options]) => options.includes(other))
  throw new Misuse(
    form.chosenBy === ''
      ? `${command.name} --${other} goes with ${forms.map(([option]) => `--${option}`).join(' or ')}`
      : `${command.name} --${form.chosenBy} takes no --${other}`,
  )
}

const parse = (command: Command, args: readonly string[]): Pick<Call, 'values' | 'positionals'> => {
  try {
    const { values, positionals } = parseArgs({
      args: args.map((arg) => (/^-\d+(?:-\d*)?$/.test(arg) ? number + arg : arg)),
      options: {
        ...Object.fromEntries(
          Object.entries(command.options).map(([name, { value, many = false }]) => [
            name,
            { type: value === undefined ? 'boolean' : 'string', multiple: many } as const,
          ]),
        ),
        help: { type: 'boolean', short: 'h' },
      },
      allowPositionals: true,
    })
    return {
      values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, withoutNumberMark(value)])),
      positionals: positionals.map(withoutNumberMark),
    }
  } catch (error) {
    throw new Misuse(`${command.name}: ${parseErrorText(error, command)}`)
  }
}

/** The parser's error in our own words. */
const parseErrorText = (error: unknown, { name: command, options }: Command): string => {
  const reason = reasonOf(error)
  const [, name = ''] = /'(?:-\w, )?(-{1,2}[^' ]*)/.exec(reason) ?? []
  const value = options[name.slice(2)]?.value
  switch ((error as { readonly code?: unknown }).code) {
    case 'ERR_PARSE_ARGS_UNKNOWN_OPTION':
      if (name === '--store' && 'to' in options)
        return `there is no option --store; ${command} takes --from STORE and --to STORE`
      const successor = formerOptions[command]?.[name]
      if (successor !== undefined) return `"${command} ${name}" is now ${successor}`
      return `there is no option ${name}${didYouMean(
        name,
        [...Object.keys(options), 'help'].map((known) => `--${known}`),
        String,
      )}${name.startsWith('--') ? '' : '; put words that begin with a dash after --'}`
    case 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE':
      return value === undefined
        ? `${name} takes no value`
        : `${name} takes a value: ${name} ${value}${reason.includes('ambiguous') ? `; one that begins with a dash is given as ${name}=-x` : ''}`
    default:
      return reason
  }
}

/** Prefixes a negative number, which the parser would mistake for an option. No process argument can contain it. */
const number = '\0'

const withoutNumberMark = <T>(value: T | string): T | string =>
  typeof value === 'string' && value.startsWith(number) ? value.slice(number.length) : value
