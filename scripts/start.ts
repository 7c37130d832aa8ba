/** `npm start`: the main job on an example conversation, or `npm start -- PATH` on any other. */
import { spawnSync } from 'node:child_process'
import { root } from './run.ts'

const given = process.argv.slice(2)
const takesValue = /^--(?:pick|kind|from|to)$/
const namesFile = given.some((arg, index) => (arg === '-' || !arg.startsWith('-')) && !takesValue.test(given[index - 1] ?? ''))
const command = ['show', ...given, ...(namesFile ? [] : [`${root}examples/coding-agent.json`])]
const { status } = spawnSync(process.execPath, [`${root}src/cli/main.ts`, ...command], { stdio: 'inherit' })
process.exitCode = status ?? 1
