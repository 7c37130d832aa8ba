/**
 * Changes by other processes: reported by NOTIFY, and by polling where notifications don't arrive.
 *
 * A process notifies after its commit, so that no commit waits for another one's notification, and once for
 * many appends. One connection listens while there are watchers. Notifications can be lost: a process may die
 * between its commit and the notification, and some poolers and clusters don't deliver them. So there is also a
 * poll: 5 times a second until a notification of our own has arrived on the connection, then once in 5 seconds.
 */
import { createHash, randomBytes } from 'node:crypto'
import { Signals, type Wake } from 'indelible/internal/store'
import { isUnsupported, type Database, type Listening } from './database.ts'

/** How long a process collects changes before it notifies, in milliseconds. */
const gatherMs = 20
/** The interval between two polls, in milliseconds. */
const fastPoll = 200
const slowPoll = 5000
/** The delay before a lost connection is replaced, in milliseconds. */
const replaceMs = 1000
/** Changes of more logs than this are sent as a change of all: a payload is limited to 8,000 bytes. */
const mostNamed = 200

export class OtherWriters {
  readonly #db: Database
  readonly #channel: string
  /** Identifies this process's notifications. */
  readonly #own = randomBytes(6).toString('hex')
  readonly #signals = new Signals()
  readonly #changed = new Set<string>()
  #gathering: NodeJS.Timeout | undefined
  #canNotify = true
  #listening: Listening | undefined
  #connecting = false
  /** True once a notification of our own has arrived, so those of others do, too. */
  #trusted = false
  #poll: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #ended = false

  constructor(db: Database) {
    this.#db = db
    this.#channel = `indelible_${digest(db.schema)}`
  }

  watch(key: string, wake: Wake): () => void {
    const stop = this.#signals.add(digest(key), wake)
    if (!this.#ended) {
      if (this.#poll === undefined) this.#schedule()
      void this.#listen()
    }
    return () => {
      stop()
      if (this.#signals.empty) this.#rest()
    }
  }

  /** Records that this process changed a log. */
  changed(key: string): void {
    if (!this.#canNotify || this.#ended) return
    this.#changed.add(key)
    this.#gathering ??= setTimeout(() => void this.#notify(), gatherMs).unref()
  }

  /** Send the collected changes, and stop listening. */
  async end(): Promise<void> {
    this.#ended = true
    this.#rest()
    await this.#notify()
  }

  async #notify(): Promise<void> {
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    if (this.#changed.size === 0) return
    const named = this.#changed.size <= mostNamed ? [...this.#changed].map(digest) : ['*']
    this.#changed.clear()
    await this.#send(`${this.#own} ${named.join(' ')}`)
  }

  /** Send a notification. If that fails, watchers find the change by polling. */
  async #send(payload: string): Promise<void> {
    try {
      await this.#db.write('select pg_notify($1::text, $2::text)', [this.#channel, payload])
    } catch (error) {
      if (isUnsupported(error)) this.#canNotify = false
    }
  }

  #schedule(): void {
    this.#poll = setTimeout(
      () => {
        this.#schedule()
        this.#signals.send()
      },
      this.#trusted ? slowPoll : fastPoll,
    )
  }

  #rest(): void {
    clearTimeout(this.#poll)
    clearTimeout(this.#retry)
    this.#poll = this.#retry = undefined
    this.#trusted = false
    this.#listening?.end()
    this.#listening = undefined
  }

  async #listen(): Promise<void> {
    if (this.#listening !== undefined || this.#connecting) return
    this.#connecting = true
    try {
      const listening = await this.#db.listen(
        this.#channel,
        (payload) => this.#receive(payload),
        () => this.#lost(),
      )
      if (this.#ended || this.#signals.empty) return listening?.end()
      this.#listening = listening
      if (listening === undefined) return // the pool has no connection to spare
      await this.#send(this.#own)
    } catch {
      this.#lost()
    } finally {
      this.#connecting = false
    }
  }

  #lost(): void {
    this.#listening = undefined
    this.#trusted = false
    if (this.#ended || this.#signals.empty) return
    clearTimeout(this.#poll)
    this.#schedule()
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => void this.#listen(), replaceMs)
  }

  #receive(payload: string): void {
    const [sender, ...keys] = payload.split(' ')
    if (sender === this.#own) {
      // Wakes watchers once, for commits before the connection listened.
      if (!this.#trusted && !this.#signals.empty) this.#signals.send()
      this.#trusted = true
      return // watchers in this process are already signaled
    }
    if (keys.includes('*')) this.#signals.send()
    else for (const key of keys) this.#signals.send(key)
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24)
