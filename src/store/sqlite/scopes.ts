/** The scopes of a file. Each has a number, which is stored with its logs and blocks. */
import type { DatabaseSync } from 'node:sqlite'
import { RecentMap } from '../../sequence/index.ts'
import { prepareAllOnce } from './prepared.ts'
import { sumOf } from './sum.ts'
import type { Writer } from './writer.ts'

export class Scopes {
  readonly #sql: ReturnType<typeof statements>
  #keys = new RecentMap<string, number>(1000)

  constructor(db: DatabaseSync, writer: Pick<Writer, 'onRollBack'>) {
    this.#sql = statements(db)
    writer.onRollBack(() => (this.#keys = new RecentMap(1000))) // the key of a scope that is rolled back is used again
  }

  keyOf(name: string): number {
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const found = this.#sql.find().get(name) as { readonly key: number } | undefined
    if (found === undefined) return -1 // no scope has this key, so nothing will be found
    this.#keys.set(name, found.key)
    return found.key
  }

  withLogs(): readonly string[] {
    return (this.#sql.used().all() as unknown as readonly { readonly name: string }[]).map(({ name }) => name)
  }

  /** The key of a scope, which is created if necessary. */
  own(name: string): number {
    const known = this.keyOf(name)
    if (known !== -1) return known
    this.#sql.add().run(name, sumOf(name))
    return this.keyOf(name)
  }
}

const statements = (db: DatabaseSync) =>
  prepareAllOnce(db, {
    find: 'select key from scope where name = ?',
    used: 'select name from scope where exists (select 1 from log where log.scope = scope.key)',
    add: 'insert into scope (name, sum) values (?, ?) on conflict do nothing',
  })
