/**
 * `npm run witness`: checkpoints of a ledger, signed by a witness that shares no code with this project: omniwitness of
 * github.com/transparency-dev/witness, built from the Go module proxy as `examples/witness` pins it. Where there is no Go,
 * or the proxy does not have it, one line says that it was left out.
 */
import { strictEqual } from 'node:assert'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, memoryStore, openSession, orThrow, user } from 'indelible'
import { checkCheckpoint, newKey, signerOf, signLedger, updateLedger, witnessLedger } from '@indelible/evidence'
import { root } from './run.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const folder = mkdtempSync(join(tmpdir(), 'indelible-witness-'))
const binary = join(folder, 'omniwitness')

/** The reason why the witness can't be built; undefined if it was. */
const build = (): string | undefined => {
  const args = ['build', '-o', binary, 'github.com/transparency-dev/witness/cmd/omniwitness']
  const env = { ...process.env, GOFLAGS: '-mod=mod' }
  const built = spawnSync('go', args, { cwd: join(root, 'examples/witness'), env, encoding: 'utf8', timeout: 600_000 })
  if (built.error !== undefined) return 'this machine has no Go'
  return built.status === 0 ? undefined : (built.stderr.trim().split('\n').at(-1) ?? 'it could not be built')
}

const answers = async (url: string): Promise<void> => {
  for (let tries = 0; tries < 600; tries++) {
    const there = await fetch(url).then(
      () => true,
      () => false,
    )
    if (there) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the witness does not answer')
}

const ask = async (): Promise<void> => {
  const origin = 'example.com/agents'
  const log = newKey(origin)
  const { skey, vkey } = newKey('witness.example/omni', 'witness')
  const [port, metrics] = [await freePort(), await freePort()]
  writeFileSync(join(folder, 'witness.key'), `${skey}\n`, { mode: 0o600 })
  writeFileSync(
    join(folder, 'logs.yaml'),
    `Logs:\n  - Origin: ${origin}\n    PublicKey: ${log.vkey}\n    URL: https://example.com/\n`,
  )
  const child = spawn(
    binary,
    [
      ...['--listen', `127.0.0.1:${port}`, '--metrics_listen', `127.0.0.1:${metrics}`],
      ...['--private_key_path', join(folder, 'witness.key'), '--additional_logs', join(folder, 'logs.yaml')],
      ...['--db_file', join(folder, 'witness.db')],
    ],
    { stdio: 'ignore' },
  )
  try {
    const witness = { url: `http://127.0.0.1:${port}`, vkey }
    await answers(witness.url)
    const store = memoryStore()
    const signers = [orThrow(signerOf(log.skey))]
    const trust = { origin, keys: [log.vkey], witnesses: [vkey], quorum: 1 }
    const sign = async (): Promise<string> => {
      await updateLedger(store)
      await signLedger(store, { origin, signers })
      const witnessed = await witnessLedger(store, [witness])
      strictEqual(witnessed.refusals.length, 0)
      strictEqual(witnessed.signedBy.join(), 'witness.example/omni')
      orThrow(checkCheckpoint(witnessed.note, trust))
      return witnessed.note
    }
    await createSession(store, { id: 's', messages: [user('hello')] })
    await sign()
    for (let round = 0; round < 5; round++) {
      await (await openSession(store, 's')).append(user(`turn ${round}`))
      await createSession(store, { id: `other-${round}` })
      await sign() // it continues what the witness has seen
    }
    // Another history under the same name is not signed.
    const forged = memoryStore()
    await createSession(forged, { id: 's', messages: [user('something else')] })
    await updateLedger(forged)
    await signLedger(forged, { origin, signers })
    const refused = await witnessLedger(forged, [witness])
    strictEqual(refused.signedBy.length, 0)
    strictEqual(refused.refusals[0]?._tag, 'WitnessRefused')
    say('omniwitness signed six checkpoints, each of which continues the one before, and refused another history')
  } finally {
    child.kill()
    await new Promise((resolve) => child.once('close', resolve))
  }
}

try {
  const reason = build()
  if (reason === undefined) await ask()
  else say(`left out: the real witness (${reason})`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
