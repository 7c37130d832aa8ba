/**
 * A process that makes calls on a log in a SQLite store, started by the tests.
 *
 *     kill PATH ROUND N   durable calls, one after the other, until killed: `began ID`, `ended ID`; call N does not end
 *     share PATH NAME N   N calls beside other processes, then `done`
 */
import { writeSync } from 'node:fs'
import { openCallLog, recordCall } from '../src/index.ts'
import { sqliteStore } from 'indelible/store/sqlite'

const say = (line: string): void => void writeSync(1, `${line}\n`)

const right = <T>(
  answer: { readonly _tag: 'Left'; readonly left: unknown } | { readonly _tag: 'Right'; readonly right: T },
): T => {
  if (answer._tag === 'Left') throw new Error(JSON.stringify(answer.left))
  return answer.right
}

const [mode, path = '', name = '', count = 'none'] = process.argv.slice(2)
const store = right(await sqliteStore({ path })())

if (mode === 'kill') {
  const { log } = right(await openCallLog({ store, id: 'calls', durable: true })())
  for (let call = 0; ; call++) {
    const callId = `${name}-${call}`
    await recordCall(log, { methodName: 'charge', callId, args: [call] }, async () => {
      say(`began ${callId}`)
      await new Promise((resolve) => setTimeout(resolve, call === Number(count) ? 2 ** 31 - 1 : Math.random() * 4))
      return call
    })
    say(`ended ${callId}`)
  }
}

const { log, flush } = right(await openCallLog({ store, id: 'calls', writer: name })())
say('ready')
for (let call = 0; call < Number(count); call++) {
  await recordCall(log, { methodName: 'add', callId: `${name}-${call}` }, () => call)
  if (call % 5 === 0) right(await flush()())
}
right(await flush()())
say('done')
