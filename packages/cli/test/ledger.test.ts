/** `indelible key`, `ledger` and bundles, as an auditor and a host run them. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { signerMemory } from '../src/prove/signer-memory.ts'
import { indelible } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-ledger-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const store = ['--store', join(folder, 'sessions.db')]
const keyFile = join(folder, 'agents.key')
const trustFile = join(folder, 'trust.json')
const origin = 'example.com/agents'
const inFile = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

describe('a ledger on the command line', () => {
  let vkey = ''
  beforeAll(() => {
    for (const id of ['a', 'b']) indelible(['import', join(root, 'examples/coding-agent.json'), '--id', id, ...store])
  })

  it('creates a key once, readable only by its owner, without printing the private part', () => {
    const made = indelible(['key', 'new', origin, '--out', keyFile])
    vkey = made.stdout.trim()
    expect(made).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^example\.com\/agents\+[0-9a-f]{8}\+\S+\n$/) as string,
    })
    expect(made.stderr).not.toContain('PRIVATE')
    expect(statSync(keyFile).mode & 0o777).toBe(0o600)
    expect(indelible(['key', 'new', origin, '--out', keyFile])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('exists already; nothing was written') as string,
    })
    writeFileSync(trustFile, JSON.stringify({ origin, keys: [vkey] }))
  })

  it('reports a missing or invalid trust file in words', () => {
    const keyless = inFile('keyless.json', JSON.stringify({ origin }))
    expect(indelible(['ledger', 'verify', '--trust', keyless, ...store]).stderr).toBe(
      `indelible: --trust ${keyless}: the trust file needs "keys": a list of public keys, each a text or { "vkey": …, "revoked": milliseconds }\n`,
    )
    const missing = join(folder, 'missing')
    for (const args of [
      ['ledger', 'verify', '--trust', missing],
      ['ledger', 'sign', '--key', missing, '--origin', origin],
    ])
      expect(indelible([...args, ...store])).toMatchObject({
        status: 1,
        stderr: `indelible: ${args[2]} ${missing}: does not exist\n`,
      })
  })
  it('explains in each command how to create a missing ledger', () => {
    for (const verb of [['show'], ['verify'], ['sign', '--key', keyFile, '--origin', origin]])
      expect(indelible(['ledger', ...verb, ...store])).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('has no ledger: create it with "indelible ledger update --store') as string,
      })
  })

  it('is updated, shown, signed and verified', () => {
    expect(indelible(['ledger', 'update', ...store]).stdout).toMatch(/^2:[0-9a-f]{64} {2}2 sessions recorded\n$/)
    expect(indelible(['ledger', 'show', ...store]).lines[0]).toMatch(/^a {2}19 rows {2}[0-9a-f]{12} {2}20\d\d-/)
    expect(indelible(['prove', 'a', '3', '--ledger', ...store])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        'has no signed checkpoint: create one with "indelible ledger sign --store',
      ) as string,
    })
    const signed = indelible(['ledger', 'sign', '--key', keyFile, '--origin', origin, ...store])
    expect(signed.lines.slice(0, 2)).toEqual([origin, '2'])
    expect(signed.stdout).toContain(`\u2014 ${origin} `)
    expect(indelible(['ledger', 'verify', '--trust', trustFile, ...store])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/2 sessions as recorded, 0 removed, 0 not recorded yet\n$/) as string,
    })
  })

  it('never signs a second history, even if the store lost its checkpoints', () => {
    const path = join(folder, 'lost.db')
    const at = ['--store', path]
    const sign = (...more: readonly string[]) =>
      indelible(['ledger', 'sign', '--key', keyFile, '--origin', 'example.com/lost', ...more, ...at])
    const begin = (id: string): void => {
      rmSync(path, { force: true })
      indelible(['import', join(root, 'examples/coding-agent.json'), '--id', id, ...at])
      indelible(['ledger', 'update', ...at])
    }
    begin('one')
    expect(sign()).toMatchObject({ status: 0 })
    expect(statSync(`${keyFile}.signed`).mode & 0o777).toBe(0o600)
    expect(sign()).toMatchObject({ status: 0 }) // the same head
    begin('another')
    expect(sign()).toMatchObject({ status: 1, stdout: '' })
    const elsewhere = join(folder, 'elsewhere.signed')
    expect(sign('--signed', elsewhere)).toMatchObject({ status: 0 }) // a key that signs elsewhere remembers nothing
    begin('third')
    expect(sign('--signed', elsewhere)).toMatchObject({ status: 1, stdout: '' })
    expect(sign('--signed', join(folder, 'none', 'signed'))).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining(join('none', 'signed')) as string,
    })
  })

  it('checks a bundle with only the keys', () => {
    const bundle = inFile('bundle.json', indelible(['prove', 'a', '3', '--ledger', ...store]).stdout)
    const checked = indelible(['check-proof', bundle, '--trust', trustFile])
    expect(checked).toMatchObject({ status: 0 })
    expect(checked.stderr).toContain(`row 3 of session "a", in the ledger ${origin} of 2 rows, signed by ${origin}`)
    expect(JSON.parse(checked.stdout)).toEqual(
      (JSON.parse(indelible(['show', 'a', '--json', ...store]).lines[3] as string) as { message: unknown }).message,
    )
    expect(indelible(['check-proof', bundle])).toMatchObject({ status: 2 })
    const others = inFile(
      'others.json',
      JSON.stringify({
        origin,
        keys: [indelible(['key', 'new', origin, '--out', join(folder, 'b.key')]).stdout.trim()],
      }),
    )
    expect(indelible(['check-proof', bundle, '--trust', others])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no signature by a trusted key') as string,
    })
  })

  it('records a removal by the command and detects one behind its back', () => {
    expect(indelible(['remove', 'a', '--yes', '--reason', 'asked to', '--by', 'ann', ...store]).status).toBe(0)
    expect(indelible(['ledger', 'show', ...store]).stdout).toMatch(/^a .* removed by ann: asked to$/m)
    expect(indelible(['ledger', 'verify', '--trust', trustFile, ...store]).status).toBe(0)
    indelible(['import', join(root, 'examples/coding-agent.json'), '--id', 'c', ...store])
    indelible(['ledger', 'update', ...store])
    indelible(['append', 'b', 'grown', ...store])
    const verified = indelible(['ledger', 'verify', ...store])
    expect(verified).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /^4:[0-9a-f]{64} {2}2 sessions as recorded, 1 removed, 0 not recorded yet\n$/,
      ) as string,
      stderr: 'the ledger was only compared with itself; pass a head that you know, or --trust\n',
    })
    const head = verified.stdout.split(' ')[0] ?? ''
    expect(indelible(['ledger', 'verify', '--head', head, ...store])).toMatchObject({ status: 0, stderr: '' })
    const json = indelible(['ledger', 'verify', '--head', head, '--json', ...store])
    expect(JSON.parse(json.stdout)).toMatchObject({ headsOnly: false, good: 2, removed: 1, held: [], unrecorded: [] })
    expect(indelible(['list', ...store]).stdout).not.toContain('indelible.ledger')
    // A terminal shows times to the minute, and the root if there is room.
    const shown = (terminal: number) => indelible(['ledger', 'show', ...store], { terminal }).lines.at(-2)
    expect(shown(80)).toMatch(/^c {2}19 rows {2}[0-9a-f]{12} {2}\d{4}-\d\d-\d\d \d\d:\d\d$/)
    expect(shown(79)).toMatch(/^c {2}19 rows {2}\d{4}-\d\d-\d\d \d\d:\d\d$/)
  })

  it('the memory of a key continues only from what it has', async () => {
    const memory = signerMemory(join(folder, 'memory.signed'), { path: (given) => given })
    const [one, two, other] = [
      { size: 1, root: 'a' },
      { size: 2, root: 'b' },
      { size: 1, root: 'c' },
    ]
    expect(await memory.read('x')).toBeUndefined()
    expect(await memory.advance('x', one, two)).toBe(false)
    expect(await memory.advance('x', undefined, one)).toBe(true)
    for (const from of [undefined, other, { size: 2, root: 'a' }])
      expect(await memory.advance('x', from, two)).toBe(false)
    expect(await memory.read('x')).toEqual(one)
    expect(await memory.advance('x', one, two)).toBe(true)
    expect([await memory.read('x'), await memory.read('y')]).toEqual([two, undefined])
  })

  it.each([
    [[], 'takes "new" and a NAME'],
    [['old', 'a', '--out', 'f'], 'takes "new" and a NAME'],
    [['new', '--out', 'f'], 'takes "new" and a NAME'],
    [['new', 'a', 'b', '--out', 'f'], 'takes "new" and a NAME'],
    [['new', 'a'], 'needs --out FILE'],
    [['new', 'a', '--out', ''], 'needs --out FILE'],
    [['new', 'a b', '--out', 'f'], 'has a space or a plus sign'],
    [['new', 'a+b', '--out', 'f'], 'has a space or a plus sign'],
    [['new', 'a\n', '--out', 'f'], 'has a space or a plus sign'],
  ])('refuses `key %j` as misuse', (args, text) => {
    const ended = indelible(['key', ...args], { cwd: folder })
    expect([ended.status, ended.stderr]).toEqual([2, expect.stringContaining(text)])
  })

  it('reports rows altered in the database; --heads-only states that it reads none', () => {
    const db = new DatabaseSync(join(folder, 'sessions.db'))
    const { id, body } = db
      .prepare(
        `select row.id, body from row, log, segment where log.id = 'b' and segment.key = log.segment and row.id = coalesce(parent, segment.key) << 32 | 4`,
      )
      .get() as { id: number; body: string }
    const put = db.prepare('update row set body = ? where id = ?')
    put.run(body.replace('"', "'"), id)
    expect(indelible(['ledger', 'verify', '--trust', trustFile, ...store])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('session "b" is damaged at row 4') as string,
    })
    expect(indelible(['ledger', 'verify', '--heads-only', ...store])).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('only heads were compared') as string,
    })
    put.run(body, id)
    db.close()
  })

  it.each([
    [[], 'ledger takes one of'],
    [['burn'], 'not "burn"'],
    [['sign'], '--key FILE'],
    [['sign', '--key', keyFile], '--origin NAME'],
    [['witness'], 'URL=VKEY'],
    [['witness', 'ftp://x=y'], 'URL=VKEY'],
    [['update', 'x'], 'takes nothing more'],
    [['verify', '--trust', trustFile, '--head', `1:${'0'.repeat(64)}`], 'takes --head or --trust, not both'],
  ])('refuses `ledger %j` as misuse', (args, text) => {
    const told = indelible(['ledger', ...args, ...store])
    expect([told.status, told.stderr]).toEqual([2, expect.stringContaining(text)])
  })
})
