/**
 * Part of `npm run attack`: our verifier of bundles and the one in Go (`examples/verify`) give one verdict. Bundles of every
 * kind are changed in their text, in what is hashed and in what is signed; few by default, 100,000 at full size
 * (`INDELIBLE_ROUNDS`). Where there is no Go, one line says that it was left out.
 *
 *     node scripts/verifiers.ts [SEED]
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkBundle, readBundle } from '@indelible/evidence'
import { isLeft } from '../src/json/index.ts'
import {
  bundleCases,
  bundleText,
  keys,
  longBody,
  origin,
  shortBody,
  signers,
  trust,
  type Edits,
} from '../packages/evidence/test/bundles.ts'
import { rounds } from '../test/rounds.ts'
import { root } from './run.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const seed = Number(process.argv[2] ?? Date.now() % 2 ** 32)
let state = seed
/** A whole number from 0 to before `below` (mulberry32). */
const random = (below: number): number => {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) % below
}
const oneOf = <T>(all: readonly T[]): T => all[random(all.length)] as T

const pieces = [
  ...[
    '"',
    '\\',
    ' ',
    '\n',
    '\r',
    '\t',
    '\u0000',
    '\u0085',
    '\u00a0',
    '\ufeff',
    '\u2028',
    '\u2014',
    '\u{1f600}',
    '\ufffd',
  ],
  ...[
    '0',
    '1',
    '9',
    '-',
    '+',
    '.',
    '.0',
    'e0',
    'E+1',
    '00',
    '9007199254740992',
    '1e400',
    'A',
    'f',
    'F',
    '=',
    '==',
    '/',
    '_',
  ],
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    'null',
    'true',
    '{}',
    '[]',
    '""',
    ',"more":1',
    '"version":1,',
    '"salt":null,',
    '"at":0,',
  ],
  ...[
    '\\u0041',
    '\\ud800',
    '\\udc00',
    '\\ud83d\\ude00',
    '\\/',
    '\\\\',
    '"page":"plan",',
    '"blocks":[],',
    '\n\n',
    '\n \n',
  ],
  ...['\u2014 a AAAAAAAA\n', 'extra \n', 'index 1\n', 'time 1\n', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n'],
]

/** A text with a change or a few. */
const changed = (text: string): string => {
  let result = text
  for (let count = 1 + random(random(4) + 1); count > 0; count--) {
    const letters = [...result] // never half a pair
    const at = random(letters.length + 1)
    const length = random(4)
    const deeds: readonly (() => readonly string[])[] = [
      () => [oneOf(pieces)],
      () => [],
      () => letters.slice(at, at + 1 + random(20)).flatMap((letter) => [letter, letter]),
      () => [(letters[at] ?? '').toUpperCase()],
      () => [String.fromCodePoint(random(oneOf([128, 256, 0xd800])))],
    ]
    result = [...letters.slice(0, at), ...oneOf(deeds)(), ...letters.slice(at + length)].join('')
  }
  return result
}

/** A value of JSON with another somewhere inside; members and items may go, come or change places. */
const changedValue = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || random(4) === 0) {
    const others = [null, true, 0, -1, 1.5, 2 ** 53, '', 'a', [], {}, value, [value], `${String(value)}`]
    return typeof value === 'string' && random(2) === 0 ? changed(value) : oneOf(others)
  }
  const entries = Object.entries(value)
  const at = random(entries.length + 1)
  const [name, inside] = entries[at] ?? ['more', 1]
  const deed = random(5)
  if (deed === 0) entries.splice(at, 1)
  else if (deed === 1) entries.splice(at, 1, [changed(name), inside])
  else if (deed === 2) entries.push(...entries.splice(at, 1))
  else entries.splice(at, 1, [name, changedValue(inside)])
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries)
}

/** What stands before the message. What a message may say is no part of the grammar. */
const changedRow = (body: string): string => {
  const start = body.indexOf('"message":')
  const envelope = changed(body.slice(0, start))
  return envelope.includes('"message":') ? body : envelope + body.slice(start)
}

const plain: Edits = {
  made: (made) => {
    const isShort = random(2) === 0
    Object.assign(made, {
      session: oneOf(['s', 'a "b"', '\\', '\u00e9\u{1f600}', '\u2028', 'x'.repeat(255), '\u0001\t', '\ufffd']),
      place: oneOf([
        [0, 1],
        [0, 2],
        [1, 2],
        [6, 7],
        [63, 100],
        [254, 255],
      ] as const),
      said: oneOf([
        [0, 1],
        [1, 2],
        [2, 3],
        [31, 33],
        [99, 100],
      ] as const),
      at: oneOf([0, -1, 1_700_000_000_000, 8.64e15, -8.64e15]),
      ...(isShort ? { body: shortBody, blocks: {} } : { body: longBody }),
      ...(random(2) === 0 && { salt: undefined }),
    })
  },
}

/** Edits of one bundle: mostly one stage, sometimes two, rarely none. */
const someEdits = (): Edits => {
  if (random(8) === 0) {
    const [, , edits] = oneOf(bundleCases)
    return random(2) === 0 ? edits : { ...edits, text: (text) => changed(edits.text?.(text) ?? text) }
  }
  const stages: readonly (() => Edits)[] = [
    () => ({ text: changed }),
    () => ({ text: (text) => JSON.stringify(changedValue(JSON.parse(text)), undefined, random(3)) }),
    () => ({
      text: (text) =>
        text.replaceAll(/[,:{}[\]]/g, (mark) => (random(20) === 0 ? `${mark}${oneOf([' ', '\n'])}` : mark)),
    }),
    () => ({
      text: (text) =>
        text.replaceAll(/[a-z]/g, (letter) =>
          random(200) === 0 ? `\\u00${letter.charCodeAt(0).toString(16)}` : letter,
        ),
    }),
    () => ({
      made: (made) => {
        plain.made?.(made)
        made.body = changedRow(made.body)
      },
    }),
    () => ({ ledgerBody: changed }),
    () => ({ checkpoint: changed }),
    () => ({ note: changed }),
    () => ({ proof: (proof) => changed(proof.slice(0, proof.indexOf('\n\n'))) + proof.slice(proof.indexOf('\n\n')) }),
    () => ({ proof: changed }),
    () => ({
      signatures: (all, sign) =>
        random(2) === 0 ? all.slice(random(2)) : [...all, sign(oneOf(Object.values(signers)))],
    }),
    () => ({}),
  ]
  return { ...plain, ...oneOf(stages)(), ...(random(6) === 0 && oneOf(stages)()) }
}

const isGood = (text: string): boolean => {
  const bundle = readBundle(text)
  return !isLeft(bundle) && !isLeft(checkBundle(bundle.right, trust))
}

const folder = mkdtempSync(join(tmpdir(), 'indelible-verifiers-'))
const program = join(folder, 'verify')

/** The verdicts of the program in Go, of many bundles at once. */
const verdictsOf = (texts: readonly string[]): readonly boolean[] => {
  const { stdout, stderr, status } = spawnSync(program, ['-', origin, ...keys], {
    input: texts.map((text) => `${JSON.stringify(text)}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  const lines = stdout.trimEnd().split('\n')
  if (status !== 0 || lines.length !== texts.length) throw new Error(`the verifier in Go failed: ${stderr}`)
  return lines.map((line) => line.startsWith('good: '))
}

const compare = (): void => {
  const count = rounds(2000, 100_000)
  let [good, bad] = [0, 0]
  const differ: string[] = []
  for (let done = 0; done < count; done += 1000) {
    const texts = Array.from({ length: Math.min(1000, count - done) }, () => bundleText(someEdits()).toWellFormed())
    const theirs = verdictsOf(texts)
    for (const [index, text] of texts.entries()) {
      const ours = isGood(text)
      if (ours) good += 1
      else bad += 1
      if (ours !== theirs[index]) differ.push(`we say ${ours ? 'good' : 'bad'}: ${text}`)
    }
  }
  for (const one of differ.slice(0, 5)) say(one)
  say(`two verifiers: ${count} bundles, ${good} good and ${bad} bad, ${differ.length} disagreements (seed ${seed})`)
  if (differ.length > 0) process.exitCode = 1
}

try {
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', GOPROXY: 'off' } // the standard library only
  const built = spawnSync('go', ['build', '-o', program, '.'], {
    ...{ cwd: join(root, 'examples/verify'), env, encoding: 'utf8' },
  })
  if (built.error !== undefined) say('left out: two verifiers (this machine has no Go)')
  else if (built.status !== 0) throw new Error(built.stderr)
  else compare()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
