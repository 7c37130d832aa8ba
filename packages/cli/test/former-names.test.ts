/** A command that has another name now, and the forms of those that have several. */
import { describe, expect, it } from 'vitest'
import { commands } from '../src/commands.ts'
import { formerNames } from '../src/former-names.ts'
import { indelible } from './indelible.ts'

describe('a former name', () => {
  it.each(Object.entries(formerNames))('%s answers with what to call instead', (name, successor) => {
    const [, command = ''] = /^"indelible (\S+)/.exec(successor ?? '') ?? []
    const tryLine = `Try: indelible ${command === '' ? '' : `${command} `}--help`
    for (const args of [[name], [name, 'x', '--json'], ['help', name]])
      expect(indelible(args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(`"${name}" is now ${successor}\n`) }) // oxfmt-ignore
    expect(indelible([name]).stderr).toContain(tryLine)
    expect(commands.map((known) => known.name)).not.toContain(name)
  })
  it.each(Object.values(formerNames))('%s is a command line that the parser takes', (successor = '') => {
    const [, line] = /^"indelible (.+)"$/.exec(successor) ?? []
    if (line === undefined) return
    const { status, stderr } = indelible(line.replace('FORMAT', 'anthropic').split(' '))
    expect([line, status, stderr]).not.toEqual([line, 2, stderr])
  })
  it('stands for no property of an object', () => {
    expect(indelible(['constructor']).stderr).toContain('there is no command "constructor"')
  })
})

describe('the forms of a command', () => {
  it.each([
    [['list', '--machine', '--tree'], 'list takes --machine or --tree, not both'],
    [['list', '--machine', '--store', 'x'], 'list --machine takes no --store'],
    [['list', '--of', 'codex'], 'list --of goes with --machine'],
    [['list', '--scopes', '--limit', '1'], 'list --scopes takes no --limit'],
    [['list', 'x'], 'list takes no arguments, but got x'],
    [['list', '--tree', 'x', 'y'], 'list takes one SESSION with --tree, but got x, y'],
    [['show', 'x', '--sent'], 'show --sent goes with --call'],
    [['show', 'x', '--check', '--all'], 'show --check takes no --all'],
    [['context', 'x', '--model', 'm'], 'context --model goes with --compare'],
    [['context', 'x', '--compare', '--at', '1'], 'context --compare takes no --at'],
    [['prove', 'x', '--head', '1:00'], 'prove --head goes with --consistency or --check'],
    [['prove', 'x', '1', '--full'], 'prove --full takes no N: it prints the head'],
    [['prove', 'x', '--ledger'], 'prove --ledger needs N: the position of a message'],
  ])('%j is misuse', (args, message) => {
    expect(indelible(args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
  it('name only options that the command has', () => {
    for (const { name, options, forms = {} } of commands) {
      const named = new Set([...Object.keys(forms), ...Object.values(forms).flat()])
      named.delete('')
      expect([name, [...named].toSorted()]).toEqual([name, Object.keys(forms).length === 0 ? [] : Object.keys(options).toSorted()]) // oxfmt-ignore
    }
  })
})
