/**
 * What other processes do to the database: told by NOTIFY, and asked for where that does not come through.
 *
 * A process notifies after its commit, so that no commit waits for another one's notification, and for many appends
 * at once. One connection listens while somebody watches. Notifications can be lost: the process that commits may die
 * before it sends one, and a pooler or a cluster may carry none. So there is a poll as well: five a second until a
 * notification of our own has come back on the connection, then one in five seconds.
 */
import { createHash, randomBytes } from 'node:crypto'
import { Signals, type Wake } from 'indelible/store/kit'
import { isUnsupported, type Database, type Listening } from './database.ts'

/** Milliseconds that a process gathers changes for, before it notifies. */
const gatherMs = 20
/** Milliseconds between two polls. */
const fastPoll = 200
const slowPoll = 5000
/** Milliseconds until a lost connection is replaced. */
const replaceMs = 1000
/** Changes of more logs than this are told as one of all: a payload has 8,000 bytes. */
const mostNamed = 200

export class Elsewhere {
  readonly #db: Database
  readonly #channel: string
  /** Names this process's notifications. */
  readonly #own = randomBytes(6).toString('hex')
  readonly #signals = new Signals()
  readonly #changed = new Set<string>()
  #gathering: NodeJS.Timeout | undefined
  #canNotify = true
  #listening: Listening | undefined
  #connecting = false
  /** A notification of our own has come back, so those of others do. */
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

  /** A log was changed by this process. */
  changed(key: string): void {
    if (!this.#canNotify || this.#ended) return
    this.#changed.add(digest(key))
    this.#gathering ??= setTimeout(() => void this.#notify(), gatherMs).unref()
  }

  /** What was gathered is sent, and nothing more is heard. */
  async end(): Promise<void> {
    this.#ended = true
    this.#rest()
    await this.#notify()
  }

  async #notify(): Promise<void> {
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    if (this.#changed.size === 0) return
    const named = this.#changed.size <= mostNamed ? [...this.#changed] : ['*']
    this.#changed.clear()
    await this.#send(`${this.#own} ${named.join(' ')}`)
  }

  /** A notification that can't be sent costs its hearers a poll. */
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
        (payload) => this.#heard(payload),
        () => this.#lost(),
      )
      if (this.#ended || this.#signals.empty) return listening?.end()
      this.#listening = listening
      if (listening === undefined) return // no connection can be spared
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

  #heard(payload: string): void {
    const [sender, ...keys] = payload.split(' ')
    if (sender === this.#own) {
      // What was committed before the connection listened is found by this poll.
      if (!this.#trusted && !this.#signals.empty) this.#signals.send()
      this.#trusted = true
      return // our own changes are told within the process
    }
    if (keys.includes('*')) this.#signals.send()
    else for (const key of keys) this.#signals.send(key)
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 24)
