/** Where spools of a database are: whoever records or erases, by whichever spelling of its address. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { terminalOf } from '../src/terminal/output.ts'
import { spoolPathPrefix } from '../src/record/spools.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-spools-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const stream = { write: () => undefined }
const terminal = terminalOf({
  ...{ stdin: process.stdin, stdout: stream, stderr: stream, cwd: '.', onInterrupt: () => () => {} },
  env: { XDG_DATA_HOME: folder },
})
const nearOf = (store: string): string | undefined => spoolPathPrefix({ store }, terminal)

it('spellings of one address share a spool path, and two databases never do', () => {
  const same = [
    'postgres://me:pass@host/db',
    'postgresql://host:5432/db',
    'postgres://other@HOST/db?schema=indelible&sslmode=require',
    'postgres:///db?host=host',
  ]
  expect(new Set(same.map(nearOf)).size).toBe(1)
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
  expect(new Set([...same.slice(0, 1), ...others].map(nearOf)).size).toBe(others.length + 1)
})
