/**
 * A process that imports, started by the tests: each line of standard input is an id, and each is answered on standard
 * output with `ack ID ROOT` or `no ID TAG`.
 *
 * PATH is that of a SQLite store, or the address of a PostgreSQL server with `?schema=NAME`. NAME says who it is; the
 * imports of `liar` are those of a file that was changed, which fail at their end.
 *
 *     PATH NAME
 */
import { createInterface } from 'node:readline'
import { isLeft } from 'fp-ts/lib/Either.js'
import { faultMessage } from '../../src/index.ts'
import { importTranscript } from '@indelible/transcripts'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { transcriptOf } from './transcripts.ts'

const [path = '', name = ''] = process.argv.slice(2)
const opened = await (
  path.startsWith('postgres://')
    ? postgresStore({
        timeout: 600_000,
        connectionString: path,
        schema: new URL(path).searchParams.get('schema') ?? '',
      })
    : sqliteStore({ path, durability: 'os' })
)()
if (isLeft(opened)) throw new Error(faultMessage(opened.left))
process.stdout.write('ready\n')
for await (const id of createInterface(process.stdin)) {
  const answer = await importTranscript(opened.right, transcriptOf(name), { id })()
  process.stdout.write(isLeft(answer) ? `no ${id} ${answer.left._tag}\n` : `ack ${id} ${answer.right.head.root}\n`)
}
await opened.right.close()()
