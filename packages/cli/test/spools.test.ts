/** Where spools of a database are: whoever records or erases, by whichever spelling of its address. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { terminalOf } from '../src/terminal/output.ts'
import { spoolPathPrefix } from '../src/record/spools.ts'
import { postgresStore } from '@indelible/postgres'
import { ok } from '../../../test/task-results.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { noPostgres, startPostgres } from '../../postgres/test/postgres-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-spools-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const stream = { write: () => undefined }
const terminal = terminalOf({
  ...{ stdin: process.stdin, stdout: stream, stderr: stream, cwd: '.', onInterrupt: () => () => {} },
  env: { XDG_DATA_HOME: folder },
})
const nearOf = (store: string): Promise<string | undefined> => spoolPathPrefix({ store }, terminal)
const placesOf = async (stores: readonly string[]): Promise<number> =>
  new Set(await Promise.all(stores.map(nearOf))).size

it('spellings of one address share a spool path without its server, and two databases never do', async () => {
  const same = [
    'postgres://me:pass@host/db',
    'postgresql://host:5432/db',
    'postgres://other@HOST/db?schema=indelible&sslmode=require',
    'postgres:///db?host=host',
  ]
  expect(await placesOf(same)).toBe(1)
  const others = [
    'postgres://host/other',
    'postgres://host:5433/db',
    'postgres://elsewhere/db',
    'postgres://host/db?schema=s',
    'postgres:///db?host=/run/a',
    'postgres:///db?host=/run/b',
    'postgres://a@host',
    'postgres://b@host',
  ]
  expect(await placesOf([...same.slice(0, 1), ...others])).toBe(others.length + 1)
})

const server = await startPostgres()
afterAll(() => server?.stop())

it("each spelling of a store's address has one spool path", leftOutIf(server === undefined, noPostgres), async () => {
  const schemas = ['one', 'two'].map((name) => `spools_${name}_${process.pid}`)
  const spellings = (schema: string): readonly string[] =>
    ['localhost', '127.0.0.1'].flatMap((host) => {
      const address = new URL(server?.url ?? '')
      address.hostname = host
      address.searchParams.set('schema', schema)
      const named = new URL(address)
      named.searchParams.set('application_name', 'other')
      return [address.href, named.href]
    })
  for (const schema of schemas)
    await (await ok(postgresStore({ connectionString: spellings(schema)[0] ?? '' }))).close()
  expect(await placesOf(schemas.flatMap(spellings))).toBe(2)
})
