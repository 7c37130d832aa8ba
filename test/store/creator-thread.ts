/** A thread that makes stores at the same moment as others: each says what it got. */
import { parentPort, workerData } from 'node:worker_threads'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const { folder, rounds, threads, gate } = workerData as {
  readonly folder: string
  readonly rounds: number
  readonly threads: number
  /** How many came to the gate, and how often it was opened. */
  readonly gate: Int32Array
}

for (let round = 0; round < rounds; round++) {
  if (Atomics.add(gate, 0, 1) === threads * (round + 1) - 1) {
    Atomics.store(gate, 1, round + 1)
    Atomics.notify(gate, 1)
  } else Atomics.wait(gate, 1, round)
  const opened = await sqliteStore({ path: `${folder}/${round}.db` })()
  parentPort?.postMessage(opened._tag === 'Left' ? opened.left._tag : 'opened', [])
  if (opened._tag === 'Right') await opened.right.close()()
}
