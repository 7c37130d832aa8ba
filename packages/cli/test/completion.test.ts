/** What real shells complete after they have read the script for them. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { commands } from '../src/commands.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { runCommand } from './command-run.ts'

const has = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0
const unless = (shell: string): ReturnType<typeof leftOutIf> => leftOutIf(!has(shell), `no ${shell} is installed`)
const scriptFor = async (shell: string): Promise<string> => (await runCommand({ args: ['completion', shell] })).stdout

/** What each shell prints where `line` ends: a word a line. */
const offers: { readonly [shell: string]: readonly [command: readonly string[], offer: (line: string) => string] } = {
  bash: [
    ['bash', '--norc', '-c'],
    (line) =>
      `COMP_WORDS=(${line.replace(/ $/, " ''")}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _indelible; printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  fish: [['fish', '--no-config', '-c'], (line) => `complete -C '${line}'`],
}

describe.each(Object.entries(offers))('shell completion for %s', (shell, [[file = '', ...args], offer]) => {
  it('offers all commands, and the options of each', unless(shell), async () => {
    const expected = new Map([
      ['indelible ', commands.map(({ name }) => name)],
      ['indelible ver', ['verify']],
      ...commands.map(({ name, options }) => [`indelible ${name} --`, [...Object.keys(options), 'help'].map((option) => `--${option}`)] as const), // oxfmt-ignore
    ])
    const script = [await scriptFor(shell), ...[...expected.keys()].map((line) => `${offer(line)}; echo =`)].join('\n')
    const output = execFileSync(file, [...args, script], { env: { ...process.env, HOME: '/tmp' } }).toString()
    const offered = output.split('=\n').map((words) => words.split('\n').flatMap((word) => word.split('\t')[0] || []))
    const sorted = (words: readonly string[]): readonly string[] => words.toSorted()
    expect(offered.slice(0, -1).map(sorted)).toEqual([...expected.values()].map(sorted))
  })
})

it('zsh completes a command and its options', unless('zsh'), async () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-zsh-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'script'), await scriptFor('zsh'))
  // It completes on a terminal only: `zpty` is one.
  const buffer = execFileSync(
    'zsh',
    [
      '-f',
      '-c',
      `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; source ${folder}/script; indelible() { print -r "<$*>" }; echo RE""ADY'
zpty -r shell said '*READY*'
zpty -w shell $'indelible lis\\t--js\\t'
zpty -r shell said '*<*>*'
print -r -- "$said"
zpty -d shell`,
    ],
    { timeout: 600_000 },
  )
  expect(/<.*>/.exec(buffer.toString())?.[0]).toBe('<list --json>')
})

it('fish and zsh learn which options take a value, and zsh which may repeat', async () => {
  const [fish, zsh] = await Promise.all(['fish', 'zsh'].map(scriptFor))
  for (const { name, options } of commands) {
    const lines = fish?.split('\n').filter((line) => line.includes(`'__fish_seen_subcommand_from ${name}'`)) ?? []
    const [, part = ''] = zsh?.split(`    ${name}) _arguments`) ?? []
    const specifications = (part.split(' ;;')[0] ?? '').split(' \\\n').map((line) => line.trim())
    for (const [option, { value, many = false }] of Object.entries(options)) {
      const line = lines.find((line) => line.includes(` -l ${option} `))
      expect(line?.includes(` -l ${option} -r -d`), `${name} --${option}`).toBe(value !== undefined)
      const one = specifications.find((each) => each.includes(`--${option}[`))
      expect([one?.startsWith("'*"), one?.endsWith(":_files'")], `${name} --${option}`).toEqual([
        many,
        value !== undefined,
      ])
    }
  }
})

it('completion refuses another shell and names the three supported ones', async () => {
  expect(await runCommand({ args: ['completion', 'csh'] })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('completion takes one of bash, zsh and fish'),
  })
})
