/** The help and docs/command-line.md are made of one table, and nothing in it is missing or wrong. */
import { expect, it } from 'vitest'
import { commandPage, currentPage } from '../../../scripts/command-page.ts'
import type { Command } from '../src/terminal/command.ts'
import { commands } from '../src/commands.ts'
import { commandHelp } from '../src/help.ts'

it('docs/command-line.md is up to date', async () => {
  if (currentPage() !== (await commandPage()))
    throw new Error('docs/command-line.md is not what its table says: run node scripts/command-page.ts')
})

const optionsIn = (text: string): readonly string[] =>
  [...text.matchAll(/--([a-z][a-z-]+)/g)].map(([, name = '']) => name)
const optionsOf = (command: Command | undefined): ReadonlySet<string> =>
  new Set([...Object.keys(command?.options ?? {}), 'help'])

it.each(commands.map((command) => [command.name, command] as const))(
  '%s: its help fits, and names options that exist',
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

it('each has a name of its own', () => {
  const names = commands.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
})
