/** Changes by other connections, detected by polling SQLite's `data_version` while there are watchers. */
import type { DatabaseSync } from 'node:sqlite'
import { Signals, type Wake } from '../port/signals.ts'
import { prepareOnce, type Prepared } from './prepared.ts'

/** Milliseconds between two polls: the first pause after a change, doubled each time, and the longest. */
const firstPollMs = 20
const restPollMs = 200

/**
 * Signals commits of other connections to the file, in this process or another, but not those of its own.
 *
 * Cost    when idle 5 polls a second for all watchers, a few microseconds each; none without watchers
 * Source  https://www.sqlite.org/pragma.html#pragma_data_version
 */
export class OtherWriters {
  readonly #version: Prepared
  readonly #signals = new Signals()
  #timer: NodeJS.Timeout | undefined
  #seen: unknown
  #pause = firstPollMs
  #ended = false

  constructor(db: DatabaseSync) {
    this.#version = prepareOnce(db, 'pragma data_version')
  }

  /** The timer keeps the process alive, as a server connection would. */
  watch(wake: Wake): () => void {
    const stop = this.#signals.add('', wake)
    if (this.#timer === undefined && !this.#ended) {
      this.#seen = this.#read()
      this.#pause = firstPollMs
      this.#schedule()
    }
    return () => {
      stop()
      if (this.#signals.empty) this.#rest()
    }
  }

  end(): void {
    this.#ended = true
    this.#rest()
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(): void {
    this.#timer = setTimeout(() => {
      const version = this.#read()
      const changed = version === undefined || version !== this.#seen
      this.#seen = version
      this.#pause = changed ? firstPollMs : Math.min(this.#pause * 2, restPollMs)
      if (version === undefined) this.#pause = restPollMs
      this.#schedule()
      if (changed) this.#signals.send()
    }, this.#pause)
  }

  /** Undefined if the file can't be read; readers then get the fault. */
  #read(): unknown {
    try {
      return this.#version().get()?.['data_version']
    } catch {
      return undefined
    }
  }
}
