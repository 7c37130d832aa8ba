/** A process of the soak: `PATH WRITER FROM`. It works on the SQLite store at PATH until it is killed. */
import { writeSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { faultMessage } from '../../src/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { work } from './soak-deeds.ts'

const [path = '', writer = '', from = '0'] = process.argv.slice(2)
const store = await sqliteStore({ path, wait: 60_000 })()
if (isLeft(store)) throw new Error(faultMessage(store.left))
// A write that has ended before anything else happens: whoever kills this has all that was said.
await work(store.right, writer, Number(from), (line) => void writeSync(1, `${line}\n`))
