/**
 * The file beside a store, `STORE.keep`, that makes a run of `keep` short: the state in which each file was last kept.
 * It has nothing that the store lacks; without it, `keep` compares each file with the store. Its lock makes runs of one
 * store follow each other, and it has the result of the last one.
 */
import { chmodSync, closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { reasonOf } from 'indelible/internal/task'
import { Unreadable } from '../terminal/command.ts'

/** A file as it was last kept. */
export interface KeptState {
  readonly program: string
  readonly path: string
  readonly file: string
  readonly stamp: string
  readonly session: string
  /** When the session was created, and the size of its log: an older store has another, or a shorter one. */
  readonly created: number
  readonly rows: number
  /** The version of this command that could not read it. */
  readonly unread: string | null
  /** 1 once its deletion was reported. */
  readonly gone: number
}

/** The result of a run. */
export interface RunResult {
  readonly at: number
  /** What was not kept, with reasons. */
  readonly failures: readonly string[]
}

export class RunFile {
  readonly #path: string
  readonly #db: DatabaseSync

  constructor(path: string) {
    this.#path = path
    if (path !== ':memory:') {
      closeSync(openSync(path, 'a', 0o600))
      chmodSync(path, 0o600)
    }
    this.#db = this.#use(() => new DatabaseSync(path, { timeout: 0 }))
  }

  /**
   * Lock the file until it is closed. If another run has the lock, that run is asked to look again.
   *
   * @returns whether this run has it
   */
  lock(): boolean {
    if (this.#tryLock()) return true
    writeFileSync(this.#again, '', { mode: 0o600 })
    return this.#tryLock() // the other run may have ended before it saw the request
  }

  #tryLock(): boolean {
    try {
      this.#db.exec('begin immediate')
    } catch (error) {
      if ((error as { readonly errcode?: number }).errcode === busy) return false
      throw this.#failure(error)
    }
    this.#use(() => this.#db.exec(tables))
    return true
  }

  #use<T>(step: () => T): T {
    try {
      return step()
    } catch (error) {
      throw this.#failure(error)
    }
  }

  /** The file can't be written, such as on a full disk, or is none of ours. What was kept before is in the store. */
  #failure(error: unknown): Unreadable {
    return new Unreadable(
      `${this.#path}: ${reasonOf(error)}; what the store has kept stays, and the next run tries again`,
    )
  }

  /** Whether another run asked to look again since this was last called. */
  takeRequest(): boolean {
    const isRequested = existsSync(this.#again)
    rmSync(this.#again, { force: true })
    return isRequested
  }

  get #again(): string {
    return `${this.#path}-again`
  }

  /** The files of a scope, by path. */
  files(scope: string): Map<string, KeptState> {
    const rows = this.#use(() => this.#db.prepare('select * from file where scope = ?').all(scope))
    return new Map(rows.map((row) => [String(row['path']), row as unknown as KeptState]))
  }

  put(scope: string, states: Iterable<KeptState>): void {
    this.#use(() => {
      const statement = this.#db.prepare('insert or replace into file values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
      for (const { program, path, file, stamp, session, created, rows, unread, gone } of states)
        statement.run(scope, path, program, file, stamp, session, created, rows, unread, gone)
    })
  }

  /** Store the result, release the lock and close the file. */
  end(result: RunResult): void {
    this.#use(() => {
      this.#db.exec('delete from result')
      this.#db.prepare('insert into result values (?)').run(JSON.stringify(result))
      this.#db.exec('commit')
    })
    this.close()
  }

  /** Close the file. Without `end`, nothing of this run is in it. */
  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}

const tables = `
  create table if not exists file (scope text, path text, program text, file text, stamp text, session text, created real,
    rows integer, unread text, gone integer, primary key (scope, path)) without rowid;
  create table if not exists result (value text)`

/** SQLite's code for a lock of another connection. */
const busy = 5

/** The path of the file for a store file. */
export const runFilePath = (store: string): string => `${store}.keep`

/** The result of the last run; undefined if none ended. */
export const lastResult = (store: string): RunResult | undefined => {
  const path = runFilePath(store)
  if (!existsSync(path)) return undefined
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path, { readOnly: true, timeout: 200 })
    const value: unknown = db.prepare('select value from result').get()?.['value']
    return typeof value === 'string' ? (JSON.parse(value) as RunResult) : undefined
  } catch {
    return undefined // it is not written yet, or locked: the next run reports
  } finally {
    db?.close()
  }
}
