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

/** What each shell offers where `line` ends, as words. */
const offers: { readonly [shell: string]: (script: string, line: string) => readonly string[] } = {
  bash: (script, line) =>
    execFileSync('bash', [
      '--norc',
      '-c',
      `${script}\nCOMP_WORDS=(${line.replace(/ $/, " ''")}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _indelible; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ])
      .toString()
      .split('\n'),
  fish: (script, line) =>
    execFileSync('fish', ['--no-config', '-c', `${script}\ncomplete -C '${line}'`], {
      env: { ...process.env, HOME: '/tmp' },
    })
      .toString()
      .split('\n')
      .map((offer) => offer.split('\t')[0] ?? ''),
}

describe.each(Object.entries(offers))('shell completion for %s', (shell, offered) => {
  it('offers all commands, and the options of each', unless(shell), async () => {
    const script = await scriptFor(shell)
    const at = (line: string): readonly string[] =>
      offered(script, line)
        .filter((word) => word !== '')
        .toSorted()
    expect(at('indelible ')).toEqual(commands.map(({ name }) => name).toSorted())
    expect(at('indelible ver')).toEqual(['verify'])
    for (const { name, options } of commands)
      expect(at(`indelible ${name} --`)).toEqual(
        [...Object.keys(options), 'help'].map((option) => `--${option}`).toSorted(),
      )
  })
})

it('zsh completes a command and its options', unless('zsh'), async () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-zsh-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'script'), await scriptFor('zsh'))
  // It completes on a terminal only: `zpty` is one.
  const said = execFileSync(
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
  expect(/<.*>/.exec(said.toString())?.[0]).toBe('<list --json>')
})

it('fish and zsh learn which options take a value, and zsh which may repeat', async () => {
  const [fish, zsh] = await Promise.all(['fish', 'zsh'].map(scriptFor))
  for (const { name, options } of commands) {
    const lines = fish?.split('\n').filter((line) => line.includes(`'__fish_seen_subcommand_from ${name}'`)) ?? []
    const [, part = ''] = zsh?.split(`    ${name}) _arguments`) ?? []
    const specifications = (part.split(' ;;')[0] ?? '').split(' \\\n').map((line) => line.trim())
    for (const [option, { value, many = false }] of Object.entries(options)) {
      const line = lines.find((one) => one.includes(` -l ${option} `))
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
