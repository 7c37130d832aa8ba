/** The scopes of a file: each has a number there, which its logs and blocks carry. */
import type { DatabaseSync } from 'node:sqlite'
import { Lately } from '../../sequence/index.ts'
import { preparedAll } from './prepared.ts'
import { sumOf } from './sum.ts'
import type { Writer } from './writer.ts'

export class Scopes {
  readonly #writer: Writer
  readonly #sql: ReturnType<typeof statements>
  /** As committed. */
  readonly #keys = new Lately<string, number>(1000)

  constructor(db: DatabaseSync, writer: Writer) {
    this.#writer = writer
    this.#sql = statements(db)
  }

  keyOf(name: string): number {
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const found = this.#sql.find().get(name) as { readonly key: number } | undefined
    if (found === undefined) return -1 // no scope has this key, so nothing is found in it
    if (!this.#writer.writing) this.#keys.set(name, found.key) // one that is being made may yet be rolled back
    return found.key
  }

  /** The scopes that have a log. */
  withLogs(): readonly string[] {
    return (this.#sql.used().all() as unknown as readonly { readonly name: string }[]).map(({ name }) => name)
  }

  /** The key of a scope that is made if it is not there. */
  own(name: string): number {
    const known = this.keyOf(name)
    if (known !== -1) return known
    this.#sql.add().run(name, sumOf(name))
    return this.keyOf(name)
  }
}

const statements = (db: DatabaseSync) =>
  preparedAll(db, {
    find: 'select key from scope where name = ?',
    used: 'select name from scope where exists (select 1 from log where log.scope = scope.key)',
    add: 'insert into scope (name, sum) values (?, ?) on conflict do nothing',
  })
