/**
 * A process that writes to a session or follows it, started by the tests, which kill it. What it says on standard output is
 * said with a write that has ended before anything else happens.
 *
 * PATH is that of a SQLite store, or the address of a PostgreSQL server with `?schema=NAME`.
 *
 *     write PATH SESSION NAME FROM TO    append rows NAME:FROM … NAME:TO beside other writers: `row NUMBER` for each
 *     follow PATH SESSION FROM           `row POSITION BODY` for each row, until it is killed
 */
import { writeSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { follow } from '../../src/session/index.ts'
import { openAt } from './open-at.ts'

const say = (line: string): void => void writeSync(1, `${line}\n`)

const [mode, path = '', id = '', ...rest] = process.argv.slice(2)
const store = await openAt(path)
say('ready')

if (mode === 'follow') {
  for await (const { position, body } of follow({ store, id }, { from: Number(rest[0]) }))
    say(`row ${position} ${body}`)
} else {
  const [name = '', from, to] = rest
  let { head } = await store.info(id)
  for (let number = Number(from); number < Number(to);) {
    const row = { kind: 'note', body: `${name}:${number}` } as const
    const answer = await store.append(id, { expected: head, rows: [row], operation: `${name} ${number}` })()
    if (!isLeft(answer)) {
      head = answer.right.head // of a repeated operation, an earlier one: the next append is told
      say(`row ${number}`)
      number += 1
    } else if (answer.left._tag === 'Conflict') head = answer.left.actual
    else if (answer.left._tag !== 'Busy') throw new Error(JSON.stringify(answer.left))
  }
  await store.close()
}
