/** A process that opens a store beside others, and appends `count` rows to a log that all of them append to. */
import { faultMessage } from 'indelible'
import { isLeft } from 'fp-ts/lib/Either.js'

import { openStore } from './postgres-elsewhere.ts'

const [argument = '', name = '', count = '0'] = process.argv.slice(2)
const store = await openStore(argument)
await store.create({ id: 'log', encrypt: false })() // by whoever is first
const found = await store.info('log')()
if (isLeft(found)) throw new Error(faultMessage(found.left))
let { head } = found.right
for (let written = 0; written < Number(count);) {
  const answer = await store.append('log', { expected: head, rows: [{ kind: 'entry', body: `${name} ${written}` }] })()
  if (!isLeft(answer)) {
    head = answer.right.head
    written += 1
  } else if (answer.left._tag === 'Conflict') head = answer.left.actual
  else throw new Error(faultMessage(answer.left))
}
await store.close()()
