/** `indelible mcp`: agents ask past sessions, by the Model Context Protocol. */
import { Misuse, timeOf, type Command } from '../terminal/command.ts'
import { storeOption } from '../sources/place.ts'
import { projectAt } from './project.ts'

const { store, scope } = storeOption

export const mcp: Command = {
  name: 'mcp',
  synopsis: 'mcp',
  purpose: 'let agents ask past sessions: an MCP server',
  usage: ['mcp [options]', 'mcp --install PROGRAM [options]', 'mcp --uninstall PROGRAM [options]'],
  about: `Serves three tools on standard input and output, by the Model Context Protocol:
search (a question), read (messages of a session) and list_sessions. Each session in an
answer has its head: "indelible verify SESSION --head HEAD" tells whether it is still the
same. The server writes nothing.

Only sessions of the current project are answered: of the repository that the working
folder is in, or else of that folder. --all-projects, --scope and --since are chosen by
you; the arguments of a call can't change them. Sessions that are encrypted, or from
which messages were erased, are not answered. Text that looks like a secret is removed.

--install adds the server to a program: claude-code, codex, gemini, opencode or pi. It
shows the change and asks. "indelible index" makes a search take milliseconds.`,
  options: {
    'all-projects': { help: 'answer about the sessions of all projects' },
    since: { value: 'TIME', help: 'only sessions since: 2026-11-22, 2026-11-22T10:00Z, or 7d, 12h, 30m ago' },
    install: { value: 'PROGRAM', help: 'add the server to a program, with the other options' },
    uninstall: { value: 'PROGRAM', help: 'remove it again' },
    yes: { help: 'with --install, --uninstall: do not ask; required without a terminal' },
    ...(store && { store }),
    ...(scope && { scope }),
  },
  forms: {
    '': ['all-projects', 'since', 'store', 'scope'],
    install: ['all-projects', 'since', 'yes', 'store', 'scope'],
    uninstall: ['yes'],
  },
  examples: ['indelible mcp --install claude-code', 'indelible mcp --install codex --all-projects --since 90d'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    if (positionals.length > 0) throw new Misuse(`mcp takes no arguments, but got ${positionals.join(', ')}`)
    const since = timeOf('--since', values['since'])
    if (values['install'] !== undefined || values['uninstall'] !== undefined)
      return (await import('./install.ts')).installServer(call)
    const { serve } = await import('./server.ts')
    const project = values['all-projects'] === true ? undefined : projectAt(terminal.path('.'), terminal.env)
    await serve(call, { project, since })
  },
}
