/** Cases that need more than one process, or the remains of a crash. */
import { isLeft } from 'indelible/internal/json'
import { followLog, verifyLog, type StoredRow } from 'indelible/store'
import { valueOrThrow, mustHold, mustEqual } from './check.ts'
import type { StoreModule, StorePlace } from './place.ts'
import { bodiesOf } from './rows.ts'

const writers = 3
const appends = 40

/**
 * Several processes append to one log as fast as they can: every row is stored once, each writer's
 * rows are in order, and a follower receives all of them.
 */
export const severalProcesses = async (place: StorePlace, elsewhere: StoreModule): Promise<void> => {
  const store = await place.open()
  await valueOrThrow(store.create({ id: 'crowded', encrypt: false }))
  const following = (async () => {
    const followed: StoredRow[] = []
    for await (const row of followLog(store, 'crowded')) if (followed.push(row) === writers * appends) return followed
    return followed
  })()
  following.catch(() => {}) // awaited below; a failing writer is reported first
  await Promise.all(Array.from({ length: writers }, (_, writer) => runElsewhere(elsewhere, writer)))
  const rows = await valueOrThrow(store.read('crowded'))
  mustEqual(rows.length, writers * appends, 'the number of rows')
  mustEqual(await following, rows, 'what a follower in this process had')
  for (let writer = 0; writer < writers; writer++) {
    const own = rows.map(({ body }) => body).filter((body) => body.startsWith(`${writer}:`))
    mustEqual(
      own,
      Array.from({ length: appends }, (_, index) => `${writer}:${index}`),
      `the rows of writer ${writer}`,
    )
  }
  const verified = await verifyLog(store, 'crowded')()
  mustHold(!isLeft(verified), 'the log verifies')
}

const runElsewhere = async ({ module, argument }: StoreModule, writer: number): Promise<void> => {
  const { spawn } = await import('node:child_process')
  const code = `
    const { openStore } = await import(${JSON.stringify(module)})
    const store = await openStore(${JSON.stringify(argument)})
    const right = (answer) => { if (answer._tag === 'Left') throw new Error(JSON.stringify(answer.left)); return answer.right }
    let { head } = right(await store.info('crowded')())
    for (let index = 0; index < ${appends}; ) {
      const answer = await store.append('crowded', { expected: head, rows: [{ kind: 'entry', body: ${JSON.stringify(`${writer}:`)} + index }], operation: ${JSON.stringify(`${writer}/`)} + index })()
      if (answer._tag === 'Right') { head = answer.right.head; index += 1 }
      else if (answer.left._tag === 'Conflict') {
        if (answer.left.missed.length !== answer.left.actual.size - head.size) throw new Error('a conflict without what was missed')
        head = answer.left.actual
      } else if (answer.left._tag !== 'Busy') throw new Error(JSON.stringify(answer.left))
    }
    await store.close()()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (data: unknown) => void (output += String(data)))
  const status = await new Promise((resolve) => child.on('exit', resolve))
  if (status !== 0) throw new Error(`writer ${writer} ended with ${String(status)}: ${output}`)
}

/** The store opens in a place where a crash left an unfinished setup, and stores rows. */
export const openAfterCrash = async (place: StorePlace, index: number): Promise<void> => {
  const wreck = place.wrecks?.[index]
  if (wreck === undefined) return
  await wreck.make()
  for (const id of ['first', 'second']) {
    const store = await place.open()
    try {
      const { head } = await valueOrThrow(store.create({ id, encrypt: false }))
      await valueOrThrow(store.append(id, { expected: head, rows: [{ kind: 'entry', body: wreck.name }] }))
      mustEqual(await bodiesOf(store, 'first'), [wreck.name], `what is there after ${wreck.name}`)
    } finally {
      await store.close()()
    }
  }
}
