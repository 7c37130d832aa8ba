/** A timer of the user that runs `keep` every 15 minutes: systemd, launchd or cron, whichever is there. */
import { platform } from 'node:os'
import { join } from 'node:path'
import { homeOf } from '../sources/home.ts'
import type { Terminal } from '../terminal/command.ts'
import { programResult } from '../terminal/program.ts'
import { hookMark } from './hooks.ts'

export interface Timer {
  readonly name: string
  /** The files to write, with their texts. */
  readonly files: readonly { readonly path: string; readonly text: string }[]
  /** Starts it. Returns the reason why it could not be started. */
  readonly start: () => string | undefined
  /** Ends it, before its files are removed. */
  readonly stop: () => void
}

const everyMinutes = 15

/** The timer that this system has; undefined if it has none. */
export const timerFor = (
  argv: readonly string[],
  variables: readonly string[],
  env: Terminal['env'],
): Timer | undefined =>
  platform() === 'darwin'
    ? launchd(argv, variables, env)
    : (systemd(argv, variables, env) ?? cron(argv, variables, env))

const failure = ({ status, stderr, error }: ReturnType<typeof programResult>): string | undefined =>
  status === 0 ? undefined : (error?.message ?? stderr.trim()) || `exit code ${status}`

const systemd = (argv: readonly string[], variables: readonly string[], env: Terminal['env']): Timer | undefined => {
  if (platform() !== 'linux' || programResult('systemctl', ['--user', 'show-environment'], env).status !== 0)
    return undefined
  const folder = join(env['XDG_CONFIG_HOME'] || join(homeOf(env), '.config'), 'systemd', 'user')
  const quoted = (text: string): string =>
    `"${text.replaceAll(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`
  const service = `[Unit]
Description=Keep the sessions of agents

[Service]
Type=oneshot
${variables.map((variable) => `Environment=${quoted(variable)}\n`).join('')}ExecStart=${argv.map(quoted).join(' ')}
SuccessExitStatus=1
`
  const timer = `[Unit]
Description=Keep the sessions of agents every ${everyMinutes} minutes

[Timer]
OnBootSec=2min
OnUnitActiveSec=${everyMinutes}min
Persistent=true

[Install]
WantedBy=timers.target
`
  const label = 'indelible-keep'
  return {
    name: 'systemd',
    files: [
      { path: join(folder, `${label}.service`), text: service },
      { path: join(folder, `${label}.timer`), text: timer },
    ],
    start: () =>
      failure(programResult('systemctl', ['--user', 'daemon-reload'], env)) ??
      failure(programResult('systemctl', ['--user', 'enable', '--now', `${label}.timer`], env)),
    stop: () => void programResult('systemctl', ['--user', 'disable', '--now', `${label}.timer`], env),
  }
}

/** Untested where it runs: the project is developed on Linux. */
const launchd = (argv: readonly string[], variables: readonly string[], env: Terminal['env']): Timer => {
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const path = join(homeOf(env), 'Library', 'LaunchAgents', 'indelible.keep.plist')
  const pairs = variables.map(
    (variable) => [variable.slice(0, variable.indexOf('=')), variable.slice(variable.indexOf('=') + 1)] as const,
  )
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>indelible.keep</string>
<key>ProgramArguments</key><array>${argv.map((argument) => `<string>${escaped(argument)}</string>`).join('')}</array>
<key>EnvironmentVariables</key><dict>${pairs.map(([name, value]) => `<key>${escaped(name)}</key><string>${escaped(value)}</string>`).join('')}</dict>
<key>StartInterval</key><integer>${everyMinutes * 60}</integer>
</dict></plist>
`
  return {
    name: 'launchd (untested)',
    files: [{ path, text }],
    start: () => failure(programResult('launchctl', ['load', '-w', path], env)),
    stop: () => void programResult('launchctl', ['unload', '-w', path], env),
  }
}

const cron = (argv: readonly string[], variables: readonly string[], env: Terminal['env']): Timer | undefined => {
  const found = programResult('crontab', ['-l'], env)
  if (found.error !== undefined) return undefined
  const others = (): string => {
    const { status, stdout } = programResult('crontab', ['-l'], env)
    const lines = status === 0 ? stdout.split(/(?<=\n)/) : [] // without a table it fails
    return lines.filter((line) => !line.includes(hookMark)).join('')
  }
  // A percent sign is a line feed in a table.
  const line = [...variables.map(quotedForShell), ...argv.map(quotedForShell)].join(' ').replaceAll('%', String.raw`\%`)
  return {
    name: 'cron',
    files: [],
    start: () => {
      const entry = `*/${everyMinutes} * * * * /usr/bin/env ${line} >/dev/null 2>&1 ${hookMark}\n`
      return failure(programResult('crontab', ['-'], env, `${others()}${entry}`))
    },
    stop: () => {
      const rest = others()
      if (programResult('crontab', ['-l'], env).stdout !== rest)
        programResult('crontab', rest === '' ? ['-r'] : ['-'], env, rest)
    },
  }
}

export const quotedForShell = (text: string): string =>
  /^[\w./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
