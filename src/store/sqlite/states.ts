/** States in the file: one text beside a log, which goes with it and with each of its rows that is erased. */
import type { DatabaseSync } from 'node:sqlite'
import { right } from '../../json/index.ts'
import type { StateDriver } from '../port/driver.ts'
import type { Logs } from './logs.ts'
import { prepared, type Prepared } from './prepared.ts'
import type { Writer } from './writer.ts'

export class States implements StateDriver {
  readonly #logs: Logs
  readonly #writer: Writer
  readonly #find: Prepared
  readonly #put: Prepared
  readonly #forget: Prepared

  constructor(db: DatabaseSync, logs: Logs, writer: Writer) {
    this.#logs = logs
    this.#writer = writer
    this.#find = prepared(db, 'select text from state where log = ?')
    this.#put = prepared(db, 'insert or replace into state (log, text) values (?, ?)')
    this.#forget = prepared(
      db,
      `delete from state where log in (select log.key from log where segment in (with recursive kin (key) as
        (select ? union select segment.key from segment join kin on segment.parent = kin.key) select key from kin))`,
    )
  }

  readonly read: StateDriver['read'] = async (scope, id) =>
    this.#logs.on(scope, id, ({ key }) => {
      const text = this.#find().get(key)?.['text']
      return right(typeof text === 'string' ? text : undefined)
    })

  readonly write: StateDriver['write'] = (scope, id, text) =>
    this.#writer.write(
      () =>
        this.#logs.on(scope, id, ({ key }) => {
          this.#put().run(key, text)
          return right(undefined)
        }),
      text.length,
    )

  /** Of each log that has rows of a segment. */
  forget(segment: number): void {
    this.#forget().run(segment)
  }
}
