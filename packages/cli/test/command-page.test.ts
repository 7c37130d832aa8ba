/** The help and docs/command-line.md are made of one table, and nothing in it is missing or wrong. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { commandPage, currentPage } from '../../../scripts/command-page.ts'
import { manPage } from '../../../scripts/man-page.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import type { Command } from '../src/terminal/command.ts'
import { commands } from '../src/commands.ts'
import { commandHelp } from '../src/terminal/help.ts'

it('docs/command-line.md is up to date', async () => {
  if (currentPage() !== (await commandPage()))
    throw new Error('docs/command-line.md is not what its table says: run node scripts/command-page.ts')
})

const unless = leftOutIf(spawnSync('man', ['--version']).status !== 0, 'no man is installed')

const optionsIn = (text: string): readonly string[] =>
  [...text.matchAll(/--([a-z][a-z-]+)/g)].map(([, name = '']) => name)
const optionsOf = (command: Command | undefined): ReadonlySet<string> =>
  new Set([...Object.keys(command?.options ?? {}), 'help'])

it('the man page renders without warnings and has every command with its options', unless, () => {
  const { stdout, stderr, status } = spawnSync('man', ['--warnings', '--local-file', '-'], {
    input: manPage('1.2.3'),
    encoding: 'utf8',
    env: { ...process.env, MANWIDTH: '200', LC_ALL: 'C.UTF-8', MAN_KEEP_FORMATTING: undefined },
  })
  expect([stderr, status]).toEqual(['', 0])
  for (const { name, usage, options } of commands) {
    expect(stdout).toContain(`\n   ${name}\n`)
    for (const line of usage) expect(stdout).toContain(`indelible ${line}`)
    for (const option of Object.keys(options)) expect(stdout).toContain(`--${option}`)
  }
})

it.each(commands.map((command) => [command.name, command] as const))(
  '%s: help fits 80 columns and names existing options',
  (name, command) => {
    for (const line of commandHelp(command)) expect(line.length).toBeLessThanOrEqual(80)
    for (const usage of command.usage) {
      expect(usage.split(' ')[0]).toBe(name)
      for (const option of optionsIn(usage)) expect(optionsOf(command)).toContain(option)
    }
    for (const example of command.examples ?? []) {
      const called = /\bindelible (\S+)/.exec(example)?.[1]
      for (const option of optionsIn(example.split(' -- ')[0] as string))
        expect(optionsOf(commands.find((other) => other.name === called))).toContain(option)
    }
    const known = new Set(commands.flatMap((other) => [...optionsOf(other)]))
    for (const option of optionsIn(command.about)) expect(known).toContain(option)
  },
)

it('every command has a unique name', () => {
  const names = commands.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
})
