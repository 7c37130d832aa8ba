/** States in the file: a text beside each log, removed with the log or when one of its rows is erased. */
import type { DatabaseSync } from 'node:sqlite'
import { right } from '../../json/index.ts'
import type { StateDriver } from '../port/driver.ts'
import type { Logs } from './logs.ts'
import { prepareAllOnce } from './prepared.ts'
import type { Writer } from './writer.ts'

export class States implements StateDriver {
  readonly #logs: Logs
  readonly #writer: Writer
  readonly #sql: ReturnType<typeof statements>

  constructor(db: DatabaseSync, logs: Logs, writer: Writer) {
    this.#logs = logs
    this.#writer = writer
    this.#sql = statements(db)
  }

  readonly read: StateDriver['read'] = async (scope, id) =>
    this.#logs.on(scope, id, ({ key }) => {
      const text = this.#sql.find().get(key)?.['text']
      return right(typeof text === 'string' ? text : undefined)
    })

  readonly write: StateDriver['write'] = (scope, id, text) =>
    this.#writer.write(
      () =>
        this.#logs.on(scope, id, ({ key }) => {
          this.#sql.put().run(key, text)
          return right(undefined)
        }),
      text.length,
    )

  /** Remove the states of all logs that have rows of a segment. */
  forget(segment: number): void {
    this.#sql.forget().run(segment)
  }
}

const statements = (db: DatabaseSync) =>
  prepareAllOnce(db, {
    find: 'select text from state where log = ?',
    put: 'insert or replace into state (log, text) values (?, ?)',
    forget: `delete from state where log in (select log.key from log where segment in (with recursive kin (key) as
        (select ? union select segment.key from segment join kin on segment.parent = kin.key) select key from kin))`,
  })
