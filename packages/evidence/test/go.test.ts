/** The verifier that shares nothing with the library: `examples/verify`, in Go, where Go is on the machine. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createSession, memoryStore, orThrow, user } from 'indelible'
import { newKey, proveInLedger, signerOf, signLedger, updateLedger, witnessLedger } from '@indelible/evidence'
import { root } from '../../../scripts/run.ts'
import { bundleCases, bundleText, keys as tableKeys, origin as tableOrigin } from './bundles.ts'
import { startWitness } from './loopback-witness.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-go-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const program = join(folder, 'verify')
const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', GOPROXY: 'off' } // the standard library only
const built = spawnSync('go', ['build', '-o', program, '.'], {
  cwd: join(root, 'examples/verify'),
  env,
  encoding: 'utf8',
})
const there = built.error === undefined

describe('the Go verifier', leftOutIf(!there, 'there is no Go'), () => {
  const origin = 'example.com/agents'

  it('builds', () => {
    expect([built.status, built.stderr]).toEqual([0, ''])
  })

  it('accepts and refuses the bundles of the table as listed', () => {
    const lines = bundleCases.map(([, , edits]) => `${JSON.stringify(bundleText(edits))}\n`)
    const { stdout, stderr } = spawnSync(program, ['-', tableOrigin, ...tableKeys], {
      input: lines.join(''),
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    const verdicts = stdout.trimEnd().split('\n')
    expect(bundleCases.map(([name], at) => [name, verdicts[at]?.startsWith('good: ')])).toEqual(
      bundleCases.map(([name, good]) => [name, good]),
    )
  })

  it('accepts a bundle and refuses every changed one', async () => {
    const { skey, vkey } = newKey(origin)
    const witness = await startWitness('witness.example/1', { [origin]: vkey })
    const store = memoryStore()
    for (let count = 0; count < 9; count++)
      await createSession(store, {
        id: `s${count}`,
        erasable: count % 2 === 0, // with a salt, and without
        messages: [user('hello'), user('long '.repeat(5000)), user(`the end of \u00e9 \u{1f600} ${count}`)],
      })
    await updateLedger(store)
    await signLedger(store, { origin, signers: [orThrow(signerOf(skey))] })
    await witnessLedger(store, [witness])
    await witness.close()
    const file = join(folder, 'bundle.json')
    const said = (
      text: string,
      keys: readonly string[] = [origin, vkey, witness.vkey],
    ): readonly [number | null, string] => {
      writeFileSync(file, text)
      const { status, stdout } = spawnSync(program, [file, ...keys], { encoding: 'utf8' })
      return [status, stdout]
    }
    for (const [id, position] of [
      ['s0', 0],
      ['s3', 1],
      ['s8', 2],
    ] as const)
      expect(said(JSON.stringify(await proveInLedger(store, id, position)))).toEqual([
        0,
        `good: row ${position} of session "${id}", under ${origin} with 9 rows\n`,
      ])
    const bundle = await proveInLedger(store, 's4', 1)
    const { entry, ledger } = bundle
    const digits = (text: string): string => text.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))
    const changed = [
      { ...bundle, entry: { ...entry, body: entry.body.replace('user', 'tool') } },
      { ...bundle, entry: { ...entry, at: Number(entry.at) + 1 } },
      { ...bundle, entry: { ...entry, salt: digits(String(entry.salt)) } },
      { ...bundle, entry: { ...entry, row: entry.row + 1 } },
      { ...bundle, entry: { ...entry, session: 's5' } },
      { ...bundle, entry: { ...entry, path: entry.path.slice(1) } },
      {
        ...bundle,
        entry: { ...entry, blocks: Object.fromEntries(Object.keys(entry.blocks).map((id) => [id, 'AAAA'])) },
      },
      { ...bundle, ledger: { ...ledger, body: ledger.body.replace('s4', 's5') } },
      { ...bundle, ledger: { ...ledger, at: 1 } },
      { ...bundle, ledger: { ...ledger, proof: ledger.proof.replace('index 4', 'index 5') } },
    ]
    for (const one of changed) expect(said(JSON.stringify(one))).toEqual([1, expect.stringMatching(/^bad: /)])
    expect(said(JSON.stringify(bundle), [origin, newKey(origin).vkey])[0]).toBe(1)
    expect(said(JSON.stringify(bundle), ['example.com/other', vkey])[0]).toBe(1)
    expect(said(JSON.stringify(bundle), [origin, vkey, newKey('witness.example/2', 'witness').vkey])[0]).toBe(1)
  })
})
