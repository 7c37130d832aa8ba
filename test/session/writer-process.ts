/**
 * A process that writes to a session, started by the tests. What it says on standard output is said with a write that
 * has ended before anything else happens, so whoever kills it has all of it.
 *
 * PATH is that of a SQLite store, or the address of a PostgreSQL server with `?schema=NAME`.
 *
 *     append PATH SESSION ROUND    append batches, some at once, until killed: `ready`, then `ack BATCH FROM TO`
 *     edit PATH SESSION ROUND      append, pop, rewind, replace and clear until killed: `ready`, then `ack NUMBER`
 *     rebase PATH SESSION NAME N   `ready`; once standard input ends, append N messages beside other writers: `missed FROM TEXT…`
 *                                  for each conflict
 */
import { writeSync } from 'node:fs'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { faultMessage, openSession, textOf, type Fault, type Session } from '../../src/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { postgresStore } from '@indelible/postgres'
import { batchOf, edit, textOfWriter } from './batches.ts'

const say = (line: string): void => void writeSync(1, `${line}\n`)

const right = <T>(answer: Either<Fault, T>): T => {
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}

const [mode, path = '', id = '', name = '', count = '0'] = process.argv.slice(2)
const opened = path.startsWith('postgres://')
  ? postgresStore({ timeout: 600_000, connectionString: path, schema: new URL(path).searchParams.get('schema') ?? '' })
  : sqliteStore({ path, durability: mode === 'rebase' ? 'os' : 'disk' })
const store = right(await opened())
const session: Session = right(await openSession(store, id)())
say('ready')

if (mode === 'append') {
  let next = 0
  const keepAppending = async (): Promise<void> => {
    for (;;) {
      const batch = next++
      const { from, to } = right(await session.append(batchOf(name, batch))())
      say(`ack ${batch} ${from} ${to}`)
      if (batch % 7 === 0) right(await session.note({ type: 'pin', position: from })())
    }
  }
  await Promise.all(Array.from({ length: 4 }, keepAppending))
} else if (mode === 'edit') {
  for (let number = 0; ; number++) {
    right(await edit(session, name, number)())
    say(`ack ${number}`)
  }
} else {
  await new Promise((resolve) => process.stdin.resume().once('end', resolve))
  for (let written = 0; written < Number(count);) {
    const { len } = session
    const answer = await session.append(textOfWriter(name, written))()
    if (!isLeft(answer)) written += 1
    else if (answer.left._tag === 'SessionConflict')
      say(`missed ${len} ${[...answer.left.missed].map(textOf).join(' ')}`)
    else right(answer)
  }
  right(await store.close()())
}
