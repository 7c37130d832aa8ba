/** `indelible completion`: a completion script for a shell, generated from the table of commands. */
import { optionsOf } from './help.ts'
import { Misuse, type Command } from './command.ts'

export const completion: Command = {
  name: 'completion',
  synopsis: 'completion SHELL',
  purpose: 'print a completion script for a shell',
  usage: ['completion bash|zsh|fish'],
  about: `Prints a script for the shell. It completes commands, options and file
names. Put one of these lines into the file that the shell reads when it starts:

  source <(indelible completion bash)      # ~/.bashrc
  source <(indelible completion zsh)       # ~/.zshrc, after compinit
  indelible completion fish | source       # ~/.config/fish/config.fish`,
  options: {},
  run: async ({ positionals: [shell = '', ...more], terminal }, commands) => {
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
    if (script === undefined || more.length > 0) throw new Misuse('completion takes one of bash, zsh and fish')
    return terminal.printWhole(script(commands))
  },
}

type Script = (commands: readonly Command[]) => readonly string[]

/** A text in single quotes for bash and zsh. */
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

const flagsOf = (command: Command): readonly string[] =>
  optionsOf(command).map(({ flag }) => /--[\w-]+/.exec(flag)?.[0] ?? flag)

const bash: Script = (commands) => [
  '_indelible() {',
  '  local word=${COMP_WORDS[COMP_CWORD]} words=',
  '  if [[ $COMP_CWORD == 1 ]]; then',
  `    words=${quoted(commands.map(({ name }) => name).join(' '))}`,
  '  elif [[ $word == -* ]]; then',
  '    case ${COMP_WORDS[1]} in',
  ...commands.map((command) => `      ${command.name}) words=${quoted(flagsOf(command).join(' '))} ;;`),
  '    esac',
  '  fi',
  '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
  '}',
  'complete -o default -F _indelible indelible', // without a match, complete file names
]

const zsh: Script = (commands) => {
  const specification = (text: string): string => text.replaceAll(/[\\:[\]]/g, String.raw`\$&`)
  return [
    '_indelible() {',
    '  if (( CURRENT == 2 )); then',
    '    local -a known=(',
    ...commands.map(({ name, purpose }) => `      ${quoted(`${name}:${purpose}`)}`),
    '    )',
    '    _describe command known && return',
    '  fi',
    '  local command=$words[2]',
    '  shift words; (( CURRENT-- ))',
    '  case $command in',
    ...commands.flatMap(({ name, options }) => [
      `    ${name}) _arguments \\`,
      ...Object.entries(options).map(
        ([option, { value, many = false, help }]) =>
          `      ${quoted(
            `${many ? '*' : ''}--${option}[${specification(help)}]${value === undefined ? '' : `:${specification(value)}:_files`}`,
          )} \\`,
      ),
      `      ${quoted('(-h --help)'.concat('--help[print this help]'))} '*:file:_files' ;;`,
    ]),
    '  esac',
    '}',
    'compdef _indelible indelible',
  ]
}

const fish: Script = (commands) => {
  const text = (value: string): string => `'${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`
  return commands.flatMap(({ name, purpose, options }) => [
    `complete -c indelible -f -n __fish_use_subcommand -a ${name} -d ${text(purpose)}`,
    ...Object.entries({ ...options, help: { help: 'print this help', value: undefined } }).map(
      ([option, { value, help }]) =>
        `complete -c indelible -n '__fish_seen_subcommand_from ${name}' -l ${option}${value === undefined ? '' : ' -r'} -d ${text(help)}`,
    ),
  ])
}

const scripts: { readonly [shell: string]: Script } = { bash, zsh, fish }
