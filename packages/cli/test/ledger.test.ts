/** `indelible key`, `ledger` and bundles, as an auditor and a host run them. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { createSession, user } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { newKey } from '@indelible/evidence'
import { startWitness } from '../../evidence/test/loopback-witness.ts'
import { signerMemory } from '../src/prove/signer-memory.ts'
import { indelible, indelibleAside } from './indelible.ts'

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
  let witnessKey = ''
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
    expect(made.stderr).toBe(`the private key is in ${keyFile}; keep it secret, and give verifiers the line above\n`)
    // The first byte of a key is its kind: 1 signs its own checkpoints, 4 those of others.
    const kindOf = (printed: string): number => Buffer.from(printed.split('+')[2] ?? '', 'base64')[0] ?? 0
    const witness = indelible(['key', 'new', 'w', '--out', join(folder, 'w.key'), '--witness']).stdout
    expect([kindOf(vkey), kindOf(witness)]).toEqual([1, 4])
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
    expect(indelible(['ledger', 'verify', '--trust', trustFile, ...store])).toMatchObject({
      status: 1,
      stderr: `indelible: the ledger has no checkpoint; "indelible ledger sign --store ${store[1]}" creates one\n`,
    })
    const signed = indelible(['ledger', 'sign', '--key', keyFile, '--origin', origin, ...store])
    expect(signed.lines.slice(0, 2)).toEqual([origin, '2'])
    expect(signed.stdout).toContain(`\u2014 ${origin} `)
    expect(indelible(['ledger', 'verify', '--trust', trustFile, ...store])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/2 sessions as recorded, 0 removed, 0 not recorded yet\n$/) as string,
      stderr: '',
    })
    const others = inFile('strangers.json', JSON.stringify({ origin, keys: [newKey(origin, 'log').vkey] }))
    expect(indelible(['ledger', 'verify', '--trust', others, ...store])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no signature by a trusted key') as string,
    })
    expect(indelible(['ledger', 'verify', '--head', `2:${'0'.repeat(64)}`, ...store])).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^indelible: .*ledger.*\n$/) as string,
    })
  })

  it('a session that is not as the ledger says is reported by update and verify, and not recorded', async () => {
    const at = ['--store', join(folder, 'changed.db')]
    const opened = await sqliteStore({ path: join(folder, 'changed.db') })
    for (const id of ['one', 'two']) await createSession(opened, { id, messages: [user('Hello.'), user('Again.')] })
    expect(JSON.parse(indelible(['ledger', 'update', '--json', ...at]).stdout)).toMatchObject({
      recorded: 2,
      mismatches: [],
    })
    await opened.remove('one')
    await createSession(opened, { id: 'one', messages: [user('Hello.'), user('Changed.')] })
    const json = indelible(['ledger', 'update', '--json', ...at])
    expect([json.status, JSON.parse(json.stdout)]).toMatchObject([1, { recorded: 0, mismatches: [{ id: 'one' }] }])
    const updated = indelible(['ledger', 'update', ...at])
    expect(updated).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^2:\w{64} {2}no sessions recorded\n$/) as string,
      stderr: expect.stringMatching(
        /^.*"one".*\nindelible: 1 session not recorded: different from the ledger\n$/,
      ) as string,
    })
    for (const more of [[], ['--heads-only']])
      expect(indelible(['ledger', 'verify', ...more, ...at])).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(/^.*"one".*\nindelible: 1 session different from the ledger\n$/) as string,
      })
    await opened.close()
  })

  it('a signature names the next key, and witnesses sign the last checkpoint', async () => {
    const { vkey: next } = newKey(origin, 'log')
    const sign = (...more: readonly string[]) =>
      indelible(['ledger', 'sign', '--key', keyFile, '--origin', origin, ...more, ...store])
    expect(sign('--next', next).stdout).toContain(next)
    expect(sign().stdout).not.toContain(next)
    const garbage = inFile('garbage.key', 'no key')
    expect(sign('--key', garbage)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(new RegExp(`^indelible: --key ${garbage}: .*\\n$`)) as string,
    })
    const witness = await startWitness('witness', { [origin]: vkey })
    witnessKey = witness.vkey
    const commandEnded = await indelibleAside(['ledger', 'witness', `${witness.url}=${witness.vkey}`, ...store])
    expect(commandEnded).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /^example\.com\/agents\n2\n[^]*\n\u2014 example[^\n]*\n\u2014 witness [^\n]*\n$/,
      ) as string,
      stderr: '',
    })
    const { vkey: nobody } = newKey('nobody', 'witness')
    const some = await indelibleAside(['ledger', 'witness', `${witness.url}=${witness.vkey}`, `${witness.url}/none=${nobody}`, ...store]) // oxfmt-ignore
    expect(some).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('\u2014 witness ') as string,
      stderr: expect.stringMatching(/^.+\nindelible: 1 of 2 witnesses signed\n$/) as string,
    })
    await witness.close()
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
    const checked = indelible(['prove', '--check', bundle, '--trust', trustFile])
    expect(checked).toMatchObject({ status: 0 })
    const line = `row 3 of session "a", in the ledger ${origin} of 2 rows, signed by ${origin}`
    expect(checked.stderr).toBe(`${line}\n`)
    const witnessed = inFile(
      'witnessed.json',
      JSON.stringify({ origin, keys: [vkey], witnesses: [witnessKey], quorum: 1 }),
    )
    expect(indelible(['prove', '--check', bundle, '--trust', witnessed]).stderr).toBe(`${line}, witness\n`)
    expect(JSON.parse(checked.stdout)).toEqual(
      (JSON.parse(indelible(['show', 'a', '--json', ...store]).lines[3] as string) as { message: unknown }).message,
    )
    expect(indelible(['prove', '--check', bundle])).toMatchObject({ status: 2 })
    const plain = inFile('plain.json', indelible(['prove', 'a', '3', ...store]).stdout)
    expect(indelible(['prove', '--check', plain, '--trust', trustFile])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--trust is for a bundle of "prove --ledger"') as string,
    })
    expect(indelible(['prove', '--check', plain, '--ledger-head', `1:${'0'.repeat(64)}`]).status).toBe(2)
    expect(indelible(['prove', '--check', inFile('null.json', 'null')])).toMatchObject({ status: 1, stdout: '' })
    const others = inFile(
      'others.json',
      JSON.stringify({
        origin,
        keys: [indelible(['key', 'new', origin, '--out', join(folder, 'b.key')]).stdout.trim()],
      }),
    )
    expect(indelible(['prove', '--check', bundle, '--trust', others])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('no signature by a trusted key') as string,
    })
  })

  it('lists what is removed, held and erased as JSON', () => {
    const at = ['--store', join(folder, 'shown.db')]
    for (const id of ['gone', 'kept', 'cut'])
      indelible(['import', join(root, 'examples/coding-agent.json'), '--id', id, ...at])
    indelible(['ledger', 'update', ...at])
    indelible(['remove', 'gone', '--yes', ...at])
    indelible(['erase', 'cut', '0', '--yes', '--by', 'bob', ...at])
    expect(indelible(['hold', 'kept', '--reason', 'a case', '--by', 'ann', ...at]).status).toBe(0)
    const shown = indelible(['ledger', 'show', '--json', ...at]).lines.slice(0, -1)
    expect(shown.map((line) => JSON.parse(line) as object)).toMatchObject([
      { id: 'gone', removed: true },
      { id: 'kept', removed: false },
      { id: 'cut', removed: false },
      { id: 'kept', held: true, by: 'ann', reason: 'a case' },
      { id: 'cut', erased: true, rows: [{ row: 0 }], by: 'bob' },
    ])
    expect(
      indelible(['ledger', 'show', ...at]).lines.map((line) =>
        line.replace(/[\da-f]{12} {2}/, '').replace(/2\d{3}-\S+/, 'TIME'),
      ),
    ).toEqual([
      'gone  19 rows  TIME  removed',
      'kept  19 rows  TIME',
      'cut  19 rows  TIME',
      'kept  held by ann: a case  TIME',
      'cut  1 row erased by bob  TIME',
      '',
    ])
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
    const [a, two, b] = [
      { size: 1, root: 'a' },
      { size: 2, root: 'b' },
      { size: 1, root: 'c' },
    ]
    expect(await memory.read('x')).toBeUndefined()
    expect(await memory.advance('x', a, two)).toBe(false)
    expect(await memory.advance('x', undefined, a)).toBe(true)
    for (const from of [undefined, b, { size: 2, root: 'a' }]) expect(await memory.advance('x', from, two)).toBe(false)
    expect(await memory.read('x')).toEqual(a)
    expect(await memory.advance('x', a, two)).toBe(true)
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
      stderr:
        'only heads were compared, so altered rows are not detected\nthe ledger was only compared with itself; pass a head that you know, or --trust\n',
    })
    expect(JSON.parse(indelible(['ledger', 'verify', '--heads-only', '--json', ...store]).stdout)).toMatchObject({
      headsOnly: true,
      good: 2,
    })
    put.run(body, id)
    db.close()
  })

  it.each([
    [[], 'ledger takes one of update, show, verify, sign, witness\n'],
    [['burn'], 'ledger takes one of update, show, verify, sign, witness, not "burn"'],
    [['sign'], '--key FILE'],
    [['sign', '--key', keyFile], '--origin NAME'],
    [['sign', '--key', keyFile, '--origin', ''], '--origin NAME'],
    [['sign', '--key', keyFile, '--origin', 'a\nb'], '--origin NAME'],
    [['sign', '--key', keyFile, '--origin', 'a', '--next', 'x'], '--next: '],
    [['witness', 'http://127.0.0.1=x'], 'http://127.0.0.1: '],
    [['witness'], 'URL=VKEY'],
    [['witness', 'ftp://x=y'], 'URL=VKEY'],
    [['update', 'x'], 'takes nothing more'],
    [['verify', '--trust', trustFile, '--head', `1:${'0'.repeat(64)}`], 'takes --head or --trust, not both'],
  ])('refuses `ledger %j` as misuse', (args, text) => {
    const commandEnded = indelible(['ledger', ...args, ...store])
    expect([commandEnded.status, commandEnded.stderr]).toEqual([2, expect.stringContaining(text)])
  })
})
