/**
 * `npm run clients`: real agents, recorded between them and a scripted provider, each in a network namespace of its own
 * without a way out. What they need and this machine lacks leaves them out, with a line that says so.
 *
 * Then each session of five agents is continued in each other (`pairs.ts`), and each agent runs with `keep` and `mcp` (`keep.ts`).
 *
 * `npm run clients -- --newest` installs the newest version of each agent and says which reader no longer fits its files.
 *
 * `npm run clients -- rerun` answers four agents from their records alone (`rerun.ts`).
 *
 * `npm run clients -- spend` lets Claude Code and Codex lose their provider's prompt cache in known ways, which `indelible spend` must
 * name, from a recording and from the agent's file (`spend.ts`).
 *
 * `npm run clients -- Codex` runs one, `npm run clients -- pairs` the continuations, `npm run clients -- keep` the runs with
 * `keep` and `mcp`, `npm run clients -- keep Codex` those of one; `CLIENTS_KEEP=yes` keeps the folders, `CLIENTS_WIRE=yes` writes what was sent there.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { install } from '../scripts/install.ts'
import { root, run } from '../scripts/run.ts'
import { agents, type Agent } from './agents.ts'
import type { KeepStep } from './keep.ts'
import type { Step } from './one.ts'
import type { Continuation } from './pairs.ts'
import type { Reading } from './reads.ts'
import type { Rerun } from './rerun.ts'
import type { SpendStep } from './spend.ts'

const here = import.meta.dirname
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const leaveOut = (reason: string): never => {
  say(`left out: real agents (${reason})`)
  process.exit(0)
}

/**
 * How a program is run with nothing but its own loopback, and, where that is permitted, with processes of its own, of which
 * none outlives it; undefined, if not even the first is permitted here.
 */
const apart = (): readonly string[] | undefined =>
  ['-n', '-rn']
    .flatMap((network) => [[network, '--pid', '--fork', '--kill-child', '--mount-proc'], [network]])
    .find(
      (flags) =>
        spawnSync('unshare', [...flags, 'sh', '-c', 'ip link set lo up && ip addr'], { stdio: 'ignore' }).status === 0,
    )

const from = Date.now()
const flags = apart() ?? leaveOut('unshare -n, or ip, is not permitted or not here')
const isNewest = process.argv.includes('--newest')
const failed = isNewest ? undefined : install(here)
if (failed !== undefined) leaveOut(`their packages could not be installed: ${failed}`)
if (!run(process.execPath, ['scripts/build.ts'])) process.exit(1)
// The library as a user has it: built, by its own name.
mkdirSync(join(here, 'node_modules'), { recursive: true })
rmSync(join(here, 'node_modules/indelible'), { recursive: true, force: true })
symlinkSync(root, join(here, 'node_modules/indelible'), 'junction')
let good = run('tsc', ['-p', here])

const isFine = (step: Step): boolean => step.wrong.length === 0 && step.sessions === 1 && step.forks === 0

/** What a program without a way out prints as JSON, or why it printed nothing. Its last argument is a new folder. */
const printed = <T>(name: string, program: string, ...more: readonly string[]): Promise<readonly T[] | string> =>
  new Promise((resolve) => {
    const folder = mkdtempSync(join(tmpdir(), 'indelible-client-'))
    const script = `ip link set lo up && "$@"; exit $?` // not exec: the first process of a namespace must be one that waits for orphans
    const args = [...flags, 'sh', '-c', script, 'sh', process.execPath, join(here, program), ...more, folder]
    const child = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk) => (out += String(chunk)))
    child.stderr.on('data', (chunk) => (err += String(chunk)))
    child.on('close', (code) => {
      // An agent may leave a process that still writes for a moment.
      if (process.env['CLIENTS_KEEP'] === undefined)
        rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
      else say(`${name}: ${folder}`)
      resolve(code === 0 ? (JSON.parse(out) as readonly T[]) : `exit code ${code}: ${err.slice(-2000)}`)
    })
  })

/** The program's version in the folder of its package. */
const versionIn = (packages: string, name: string): string =>
  (JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8')) as { version: string }).version

/** Run agents whose files are only read. Returns the number of those that no longer fit. */
const readAgents = async (these: readonly Agent[], packages: string): Promise<number> => {
  const readings = these.map(async (agent) => ({
    agent,
    read: await printed<Reading>(agent.name, 'reads.ts', agent.name),
  }))
  let failures = 0
  for (const each of readings) {
    const { agent, read } = await each
    const [reading = { format: '', messages: 0, wrong: [] }] = typeof read === 'string' ? [] : read
    const wrong = typeof read === 'string' ? [read] : reading.wrong
    if (wrong.length > 0) failures++
    const title = `${agent.name} ${versionIn(packages, agent.package)}`
    say(
      `${title.padEnd(30)}${reading.format.padEnd(16)}${wrong.length === 0 ? `fits, ${reading.messages} messages` : 'NO LONGER FITS'}`,
    )
    for (const one of wrong) say(`    ${one}`)
  }
  return failures
}

if (isNewest) {
  const newest = join(here, 'newest')
  mkdirSync(newest, { recursive: true })
  writeFileSync(join(newest, 'package.json'), '{"private":true}\n')
  for (const { package: name } of agents) {
    const args = ['install', '--no-audit', '--no-fund', '--silent', `${name}@latest`]
    const { status, stderr } = spawnSync('npm', args, { cwd: newest, encoding: 'utf8', timeout: 15 * 60_000 })
    if (status !== 0) say(`left out: ${name} (it could not be installed: ${stderr.slice(-300).trim()})`)
  }
  const packages = join(newest, 'node_modules')
  process.env['CLIENTS_PACKAGES'] = packages
  const there = agents.filter(({ package: name }) => existsSync(join(packages, name)))
  const failures = await readAgents(there, packages)
  say(`${there.length - failures} passed, ${failures} failed`)
  process.exit(good && failures === 0 ? 0 : 1)
}

const stepsOf = (agent: Agent): Promise<readonly Step[] | string> => printed(agent.name, 'one.ts', agent.name)

const versionOf = (agent: Agent): string =>
  (JSON.parse(readFileSync(join(here, 'node_modules', agent.package, 'package.json'), 'utf8')) as { version: string })
    .version

const columns = ['sessions', 'others', 'forks', 'calls', 'messages', 'retracted', 'compactions', 'beside'] as const
const line = (...cells: readonly (string | number)[]): string =>
  cells.map((cell, index) => (index < 2 ? String(cell).padEnd(21) : String(cell).padStart(12))).join('')

/** The parts that are asked for by name; all if none is. */
const parts = ['pairs', 'rerun', 'keep', 'spend'].filter((part) => process.argv.slice(2).includes(part))
const named = process.argv.slice(2).filter((word) => agents.some(({ name }) => name === word))
const isNamed = ({ name }: Agent): boolean => named.length === 0 || named.includes(name)
const isAll = parts.length === 0 && named.length === 0
const chosen = agents.filter((agent) => parts.length === 0 && isNamed(agent))
if (chosen.length > 0) say(line('agent', 'step', ...columns, 'as its file', 's'))
let passed = 0
let wrong = 0
// All at once: they wait most of the time.
const onlyRead = chosen.filter(({ isOnlyRead = false, program }) => isOnlyRead && program() !== undefined)
const running = chosen
  .filter(({ isOnlyRead = false }) => !isOnlyRead)
  .map((agent) => ({ agent, steps: agent.program() === undefined ? undefined : stepsOf(agent) }))
for (const { agent, steps: awaited } of running) {
  const steps = await awaited
  if (steps === undefined) {
    say(`left out: ${agent.name} (its package has no program for this machine)`)
    continue
  }
  if (typeof steps === 'string') {
    say(`${agent.name} failed: ${steps}`)
    wrong++
    continue
  }
  for (const [index, step] of steps.entries()) {
    const fine = isFine(step)
    if (fine) passed++
    else wrong++
    const title = index === 0 ? `${agent.name} ${versionOf(agent)}` : ''
    const numbers = columns.map((column) => step[column])
    say(line(title, step.step, ...numbers, fine ? 'equal' : 'NO', (step.milliseconds / 1000).toFixed(1)))
    for (const one of step.wrong.slice(0, 10)) say(`    ${one}`)
  }
}
const unfit = await readAgents(onlyRead, join(here, 'node_modules'))
passed += onlyRead.length - unfit
wrong += unfit
if (isAll || parts.includes('pairs')) {
  const continued = await printed<Continuation>('pairs', 'pairs.ts')
  if (typeof continued === 'string') {
    say(`continuations failed: ${continued}`)
    wrong++
  } else
    for (const continuation of continued) {
      if (continuation.wrong.length === 0) passed++
      else wrong++
      say(
        `${continuation.from.padEnd(42)}${`in ${continuation.in}`.padEnd(20)}${continuation.wrong.length === 0 ? 'equal' : 'NO'}  ${continuation.seconds.toFixed(1)}`,
      )
      for (const line of continuation.wrong) say(`    ${line}`)
    }
}
if (isAll || parts.includes('rerun')) {
  // All at once: they wait most of the time.
  const runs = agents
    .filter((agent) => agent.isOnlyRead !== true && agent.program() !== undefined && isNamed(agent))
    .map((agent) => ({ agent, reruns: printed<Rerun>(agent.name, 'rerun.ts', agent.name) }))
  for (const { agent, reruns: awaited } of runs) {
    const reruns = await awaited
    if (typeof reruns === 'string') {
      say(`${agent.name} can't be answered from its record: ${reruns}`)
      wrong++
      continue
    }
    for (const rerun of reruns) {
      if (rerun.wrong.length === 0) passed++
      else wrong++
      say(
        `${agent.name.padEnd(14)}${rerun.title.padEnd(16)}${rerun.wrong.length === 0 ? 'right' : 'NO'}  ${rerun.seconds.toFixed(1)} s`,
      )
      for (const line of rerun.wrong.length > 0 ? rerun.wrong : rerun.said.split('\n')) say(`    ${line}`)
    }
  }
}
if (isAll || parts.includes('keep')) {
  const runs = agents
    .filter((agent) => agent.isNotKept !== true && isNamed(agent))
    .map((each) => ({ each, steps: printed<KeepStep>(each.name, 'keep.ts', each.name) }))
  for (const { each, steps: awaited } of runs) {
    const steps = await awaited
    for (const keepStep of typeof steps === 'string' ? [{ step: 'failed', seconds: 0, wrong: [steps] }] : steps) {
      if (keepStep.wrong.length === 0) passed++
      else wrong++
      say(
        `${each.name.padEnd(21)}${keepStep.step.padEnd(34)}${keepStep.wrong.length === 0 ? 'as expected' : 'NO'}  ${keepStep.seconds.toFixed(1)}`,
      )
      for (const line of keepStep.wrong) say(`    ${line}`)
    }
  }
}
if (isAll || parts.includes('spend')) {
  const runs = agents
    .filter((agent) => agent.losesCache !== undefined && agent.program() !== undefined && isNamed(agent))
    .map((agent) => ({ agent, steps: printed<SpendStep>(agent.name, 'spend.ts', agent.name) }))
  for (const { agent, steps: awaited } of runs) {
    const steps = await awaited
    for (const spendStep of typeof steps === 'string' ? [{ step: 'failed', causes: [], wrong: [steps] }] : steps) {
      if (spendStep.wrong.length === 0) passed++
      else wrong++
      say(
        `${agent.name.padEnd(21)}${`spend, ${spendStep.step}`.padEnd(20)}${spendStep.wrong.length === 0 ? 'named' : 'NO'}  ${spendStep.causes.join(' ')}`,
      )
      for (const line of spendStep.wrong) say(`    ${line}`)
    }
  }
}
good &&= wrong === 0
say(`clients: ${((Date.now() - from) / 1000).toFixed(0)} s`)
say(`${passed} passed, ${wrong} failed`)
process.exitCode = good ? 0 : 1
