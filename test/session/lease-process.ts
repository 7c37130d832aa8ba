/**
 * A process that wants to hold a session again and again, started by the tests, which pause and kill it.
 *
 *     PATH SESSION NAME TIMES AHEAD TTL
 *
 * Its clock is AHEAD milliseconds ahead. Each time it takes the lease, appends two messages under it, and releases it:
 * `held NUMBER`, then `ack NUMBER TEXT` for each. `lost NUMBER` when it finds that it was replaced. The lease lasts 1,000
 * milliseconds; where a TTL says otherwise, the process waits for a line on standard input before the second message.
 */
import { writeSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { openSession, user } from '../../src/index.ts'
import { openAt } from './open-at.ts'

const say = (line: string): void => void writeSync(1, `${line}\n`)

const [path = '', id = '', name = '', times = '0', ahead = '0', ttl] = process.argv.slice(2)
const store = await openAt(path, Number(ahead))
const session = await openSession(store, id)
say('ready')
for (let turn = 0; turn < Number(times); turn++) {
  const lease = await session.lease({ holder: name, ttl: Number(ttl ?? 1000), wait: 600_000 })
  say(`held ${lease.number}`)
  for (const part of ['a', 'b']) {
    if (part === 'b' && ttl !== undefined) await new Promise((resolve) => process.stdin.once('data', resolve))
    const text = `${lease.number} ${name} ${turn}${part}`
    const answer = await session.append(user(text))()
    if (!isLeft(answer)) say(`ack ${text}`)
    else if (answer.left._tag === 'LeaseLost') say(`lost ${lease.number}`)
    else throw new Error(JSON.stringify(answer.left))
    if (isLeft(answer)) break
  }
  await lease.release()
}
await session.close()
await store.close()
