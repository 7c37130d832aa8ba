/**
 * `npm run mutate -- --part recorder --count 12 --seed 5`: changes one place of the code at a time, and runs the tests of its part
 * on each change. A change that no test catches is a gap in the tests, or changes nothing that anybody can observe.
 *
 * It works in a copy of the project, which it removes. First the tests of a part run on unchanged code, with marks at the places
 * that could be changed: they must pass, and the marks say which test files reach which place. A mutant is run against those
 * alone, the ones named like its file first, up to the first failure.
 *
 * --part A,B   parts of `src` and packages, by name; all of them by default
 * --count N    mutants of each part, default 8
 * --seed N     which of them, default 1
 * --at A,B     only in these files, or on these lines: src/json/text.ts:12
 * --tests A,B  these tests instead of the part's
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { mutationsOf, withMarks, type Mutation } from './mutations.ts'
import type { Outcome, Question } from './mutate-runner.ts'
import { root } from './run.ts'

/** The tests of a part, where they are not just those of the folder with its name. */
const testsOf: { readonly [part: string]: readonly string[] } = {
  codecs: ['test/codecs/**/*', 'packages/codecs/test/*', 'packages/transcripts/test/every-leaf'],
  encryption: ['packages/encryption/test/*', 'test/session/failing-store'],
  evidence: ['packages/evidence/test/*', 'test/session/failing-store'],
  json: ['test/json/*', 'test/history/{values,history}'],
  sequence: ['test/sequence/*', 'test/history/{history,chunks}', 'test/session/writer'],
  pages: ['test/pages/*', 'test/history/restore'],
  notes: ['test/notes/*', 'test/session/session'],
  proof: ['test/proof/*', 'test/session/{prove,tamper}', 'packages/evidence/test/ledger'],
  entry: ['test/entry/*', 'test/session/{session,copy,tamper,erase,prove,transfer}', 'test/store/check'],
  records: ['packages/records/test/**/*', 'test/store/own-logs'],
  session: [
    'test/session/{session,conversation.property,copy,tamper,erase,prove,transfer,imports,follow,lease,writer,failing-store}',
    'test/session/{adapter-ownership,arguments,digests,erased-elsewhere,fault,journal,lease-machine,lease-options,open-or-create,unread-rows}',
  ],
  store: ['test/store/*', 'test/session/{tamper,erase,lease}', 'packages/encryption/test/encryption'],
  workflows: ['packages/workflows/test/**/*', 'packages/encryption/test/every-log'],
  testing: ['packages/testing/test/*', 'test/store/{memory,sqlite,key-value,amounts}', 'test/run/model-contract'],
}
/** Tests that take long, patch what a mark needs, or need what was built. */
const leftOut =
  /soak|kill|crash|together|simulation|real|go\.test|machine|matrix|flips|patched|half-pairs|command\.test|store\/format|(session|cli\/test)\/postgres|cli\/test\/start\.test/

const { values } = parseArgs({
  options: {
    part: { type: 'string' },
    count: { type: 'string' },
    seed: { type: 'string' },
    at: { type: 'string' },
    tests: { type: 'string' },
  },
})
const count = Number(values.count ?? 8)
const at = values.at?.split(',')
const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** The folders of a part: `codecs` is one of `src` and a package. */
const sourcesOf = (part: string): readonly string[] =>
  [`src/${part}`, `packages/${part}/src`].filter((folder) => fs.existsSync(join(root, folder)))
const parts = new Set(
  ['src', 'packages'].flatMap((folder) =>
    fs.readdirSync(join(root, folder), { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : [])),
  ),
)
const filesIn = (patterns: readonly string[]): readonly string[] => fs.globSync(patterns, { cwd: copy }).toSorted()

/** Draws numbers below a bound, the same ones for the same seed. */
const drawFrom = (seed: number): ((bound: number) => number) => {
  let state = seed
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound)
  }
}

const copy = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'mutants-')))
const reach = join(copy, 'reach')
let runner: ChildProcess | undefined
const stop = (): void => {
  if (runner?.pid !== undefined && runner.exitCode === null && runner.signalCode === null)
    process.kill(-runner.pid, 'SIGKILL')
  runner = undefined
}
process.on('exit', () => {
  stop()
  fs.rmSync(copy, { recursive: true, force: true, maxRetries: 10 })
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))

/** Copies what git knows of the project, and links its packages and what was built. */
const copyProject = (): void => {
  const { stdout } = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
  for (const path of stdout.split('\0').filter((path) => path !== '' && fs.existsSync(join(root, path))))
    fs.cpSync(join(root, path), join(copy, path), { recursive: true })
  const link = (to: string, name: string): void => fs.symlinkSync(to, join(copy, 'node_modules', name))
  fs.mkdirSync(join(copy, 'node_modules/@indelible'), { recursive: true })
  for (const name of fs.readdirSync(join(root, 'node_modules')))
    if (!/^(@?indelible|\.vite.*)$/.test(name)) link(join(root, 'node_modules', name), name)
  link(copy, 'indelible')
  for (const name of fs.readdirSync(join(copy, 'packages'))) link(join(copy, 'packages', name), `@indelible/${name}`)
  // Some tests bundle what was built, and some serve its page; none may build it anew because a source is newer.
  for (const path of fs.globSync(['dist', 'packages/*/dist'], { cwd: root }))
    fs.cpSync(join(root, path), join(copy, path), { recursive: true })
  const page = join(copy, 'packages/view/dist/page/index.html')
  if (fs.existsSync(page)) fs.utimesSync(page, new Date(), new Date('2100-01-01'))
  fs.chmodSync(copy, 0o755) // a test reads as nobody
  // A test's own processes write at once what they reach: nobody knows how they end.
  fs.writeFileSync(
    join(copy, 'reach.mjs'),
    `import { appendFileSync } from 'node:fs'
const seen = Object.create(null)
globalThis.reach = (index) => {
  if (process.env.INDELIBLE_REACH === undefined || seen[index]) return
  seen[index] = 1
  try {
    appendFileSync(process.env.INDELIBLE_REACH, index + '\\n')
  } catch {}
}
`,
  )
  fs.appendFileSync(
    join(copy, 'test/setup.ts'),
    `import { appendFileSync } from 'node:fs'
import { afterAll, expect } from 'vitest'
const reach = ${JSON.stringify(`${reach}/`)} + encodeURIComponent(expect.getState().testPath!)
process.env['INDELIBLE_REACH'] = reach
if (!process.env['NODE_OPTIONS']!.includes('reach')) process.env['NODE_OPTIONS'] += ' --import=${join(copy, 'reach.mjs')}'
const seen = Object.create(null)
;(globalThis as any).reach = (index: number) => void (seen[index + ((globalThis as any).isLoading ? ' all' : '')] = 1)
afterAll(() => appendFileSync(reach, Object.keys(seen).join('\\n') + '\\n'))
`,
  )
  // Each file's command lines run in a thread and processes of its own, from the changed code, and write what they reach.
  const helper = join(copy, 'packages/cli/test/indelible.ts')
  const passed = ['NODE_OPTIONS', 'INDELIBLE_REACH'].map((name) => `${name}: process.env['${name}'],`).join(' ')
  const renewed = 'forEachFile.add(() => {\n  void started?.terminate()\n  started = undefined\n})\n'
  fs.writeFileSync(
    helper,
    fs.readFileSync(helper, 'utf8').replace('NODE_COMPILE_CACHE: compiled,\n  ...env', `${passed} $&`) + renewed,
  )
}

/** Runs tests, up to so many failures; undefined if they take longer than `limit` milliseconds. */
const runTests = async (question: Question, bail: number, limit: number): Promise<Outcome | undefined> => {
  if (runner === undefined) {
    const args = [join(import.meta.dirname, 'mutate-runner.ts'), copy, String(bail)]
    runner = spawn(process.execPath, args, { cwd: copy, detached: true, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    await Promise.race(['message', 'exit'].map((event) => new Promise((resolve) => runner?.once(event, resolve))))
  }
  const { promise, resolve } = Promise.withResolvers<Outcome | undefined>()
  const timer = setTimeout(resolve, limit)
  runner.once('message', resolve)
  runner.once('exit', () => resolve({ failed: ['the runner died'], took: [] }))
  runner.send(question)
  const outcome = await promise
  clearTimeout(timer)
  runner.removeAllListeners()
  if (outcome === undefined || outcome.took.length === 0) stop()
  return outcome
}

/** Runs the part's tests on unchanged code: the milliseconds of each file, and the files that reach each place. */
const runUnchanged = async (
  tests: readonly string[],
  codes: ReadonlyMap<string, string>,
  places: readonly Mutation[],
) => {
  fs.rmSync(reach, { recursive: true, force: true })
  fs.mkdirSync(reach)
  fs.chmodSync(reach, 0o777)
  for (const [path, code] of codes) {
    const marks = places.flatMap((place, index) =>
      place.path === path ? [[`globalThis.reach?.(${index})`, place] as const] : [],
    )
    // Tests that share a process load a file once: what runs meanwhile is reached by all of them.
    const setLoading = (is: boolean): string => `;globalThis.isLoading = ${is};`
    const marked = withMarks(code, marks)
    fs.writeFileSync(
      join(copy, path),
      code.startsWith('#!') ? marked : `${setLoading(true)}${marked}\n${setLoading(false)}`,
    )
  }
  stop()
  const outcome = await runTests({ changed: [], tests }, 0, 3_600_000)
  stop()
  for (const [path, code] of codes) fs.writeFileSync(join(copy, path), code)
  const took = new Map<string, number>()
  for (const [path, milliseconds] of outcome?.took ?? []) took.set(path, (took.get(path) ?? 0) + milliseconds)
  const reaching = places.map(() => new Set<string>())
  for (const name of fs.readdirSync(reach))
    for (const line of fs.readFileSync(join(reach, name), 'utf8').split('\n').filter(Boolean)) {
      const [index, isAll] = line.split(' ')
      for (const path of isAll === undefined ? [relative(copy, decodeURIComponent(name))] : tests)
        reaching[Number(index)]?.add(path)
    }
  return { failed: outcome?.failed ?? ['no end'], took, reaching }
}

const mutatePart = async (part: string): Promise<string> => {
  const codes = new Map(
    filesIn(sourcesOf(part).map((folder) => `${folder}/**/*.ts`)).map((path) => [
      path,
      fs.readFileSync(join(copy, path), 'utf8'),
    ]),
  )
  const isAsked = ({ path, line }: Mutation): boolean =>
    at?.some((one) => one === path || one === `${path}:${line}`) ?? true
  const all = [...codes].flatMap(([path, code]) => mutationsOf(path, code)).filter(isAsked)
  const draw = drawFrom(Number(values.seed ?? 1))
  const places: Mutation[] = []
  while (places.length < 3 * count && all.length > 0) places.push(...all.splice(draw(all.length), 1))

  const named = testsOf[part] ?? sourcesOf(part).map((folder) => `${folder.replace(/^src|src$/, 'test')}/**/*`)
  const tests = filesIn(values.tests?.split(',') ?? [...named, 'test/frozen'].map((one) => `${one}.test.ts`)).filter(
    (path) => values.tests !== undefined || !leftOut.test(path),
  )
  const { failed, took, reaching } = await runUnchanged(tests, codes, places)
  if (failed.length > 0) {
    say(`${part}: tests fail on unchanged code:\n  ${failed.join('\n  ')}`)
    process.exitCode = 1
    return `| ${part} | 0 | | | | |`
  }
  const counts = { caught: 0, survived: 0, 'timed out': 0 }
  let tried = 0
  let notReached = 0
  let before = ''
  for (const [index, place] of places.entries()) {
    if (tried === count) break
    const { path, line, start, end, lead, to, isTop } = place
    const those = reaching[index] ?? new Set()
    if (those.size === 0) {
      notReached += 1
      continue
    }
    tried += 1
    const names = [basename(path, '.ts'), `/${basename(dirname(path))}`]
    const isNear = (test: string): number => Number(names.some((name) => test.includes(name)))
    const milliseconds = (test: string): number => took.get(test) ?? 0
    const order = (isTop ? tests : [...those]).toSorted(
      (a, b) => isNear(b) - isNear(a) || milliseconds(a) - milliseconds(b),
    )
    const code = codes.get(path) ?? ''
    fs.writeFileSync(join(copy, path), code.slice(0, start) + lead + to + code.slice(end))
    const limit = 60_000 + 6 * order.reduce((sum, test) => sum + milliseconds(test), 0)
    const outcome = await runTests({ changed: [before, path], tests: order }, 1, limit)
    fs.writeFileSync(join(copy, path), code)
    before = path // its text is back, and the runner still has the other one
    const verdict = outcome === undefined ? 'timed out' : outcome.failed.length > 0 ? 'caught' : 'survived'
    counts[verdict] += 1
    const change = `${code.slice(start, end)}  →  ${to}`.replaceAll(/\s+/g, ' ')
    say(`${verdict} ${path}:${line}  ${change}`)
    if (verdict !== 'caught') say(`  ${order.join(' ')}`)
  }
  stop()
  return `| ${[part, tried, counts.caught, counts.survived, counts['timed out'], notReached].join(' | ')} |`
}

copyProject()
const table = [
  '| part | mutants | caught | survived | timed out | places that no test reaches |',
  '|---|---:|---:|---:|---:|---:|',
]
for (const part of values.part?.split(',') ?? parts) {
  const row = await mutatePart(part)
  say(row)
  table.push(row)
}
say(`\n${table.join('\n')}`)
process.exit()
