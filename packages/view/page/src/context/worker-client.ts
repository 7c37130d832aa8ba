/** The page's side of its worker: a record is given to it as far as an answer needs, in pieces between two frames. */
// oxlint-disable unicorn/require-post-message-target-origin -- a worker's messages have no origin
import type { Message } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import type { CallPlace } from '../../../src/calls/model-calls.ts'
import type { Epoch, Questions, Series } from '../../../src/calls/derive-contexts.ts'
import { memoizeByKey } from '../memo.ts'
import type { NoteAtRow } from '../../../src/calls/model-calls.ts'
import type { Entry } from '../data/entry.ts'
import type { SessionRecord } from '../data/record.ts'

/** Messages to the worker. */
export type ToWorker =
  | {
      readonly messages: readonly (readonly [Message, PageKind])[]
      readonly notes: readonly NoteAtRow[]
    }
  | QuestionWithId
  | { readonly stop: number }
  /** What was given so far is given again: rows of it were found to be damaged. */
  | { readonly restart: true }

/** What the worker is asked, under an id that its answers have. */
export type QuestionWithId = { readonly id: number } & Question

type Question =
  | { readonly name: keyof Questions; readonly argument: unknown }
  | { readonly name: 'epoch'; readonly argument: Epoch }
  | { readonly name: 'compare'; readonly calls: readonly CallPlace[]; readonly budget: number }

/** Messages from the worker. */
export type FromWorker =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly share: number }
  | { readonly id: number; readonly series: Series }
  | { readonly id: number; readonly fault: string }

/** The most messages given to the worker between two frames. */
const pieceMessages = 500

class WorkerClient {
  readonly #record: SessionRecord
  readonly #worker: Worker
  readonly #waiting = new Map<number, (answer: FromWorker) => void>()
  #sent = { messages: 0, notes: 0 }
  #join: unknown
  #giving: Promise<void> = Promise.resolve()
  #last = 0

  constructor(record: SessionRecord) {
    this.#record = record
    this.#worker = new Worker(scriptUrl() as string) // no module: those of a file's own text have no origin, and are not loaded
    this.#worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => this.#waiting.get(data.id)?.(data))
    this.#worker.addEventListener('error', ({ message }) => {
      for (const [id, tell] of this.#waiting) tell({ id, fault: message || 'its worker did not start' })
    })
    record.gone.addEventListener('abort', () => this.#worker.terminate())
  }

  /** Ask something that the first `len` messages and the rows before `end` answer. */
  async ask<Name extends keyof Questions>(
    name: Name,
    len: number,
    argument: Parameters<Questions[Name]>[0],
  ): Promise<ReturnType<Questions[Name]>> {
    return (await this.#answer(len, { name, argument })) as ReturnType<Questions[Name]>
  }

  /** The length of the record where the epoch of the last of these calls began; undefined if it is the first epoch. */
  async epoch(len: number, request: Epoch, gone: AbortSignal): Promise<number | undefined> {
    return (await this.#answer(len, { name: 'epoch', argument: request }, gone)) as number | undefined
  }

  /** Compare policies over calls, until `gone`. */
  async compare(
    calls: readonly CallPlace[],
    budget: number,
    gone: AbortSignal,
    come: (series: Series) => void,
    progress: (share: number) => void,
  ): Promise<void> {
    await this.#answer(Infinity, { name: 'compare', calls, budget }, gone, (answer) => {
      if ('share' in answer) progress(answer.share)
      if ('series' in answer) come(answer.series)
    })
  }

  async #answer(
    len: number,
    question: Question,
    gone?: AbortSignal,
    onAnswer: (answer: FromWorker) => void = () => {},
  ): Promise<unknown> {
    await this.#give(len)
    if (gone?.aborted === true) return undefined
    const id = ++this.#last
    gone?.addEventListener('abort', () => this.#worker.postMessage({ stop: id } satisfies ToWorker))
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, (answer) => {
        if (gone?.aborted !== true) onAnswer(answer)
        if ('answer' in answer) resolve(answer.answer)
        else if ('fault' in answer) reject(new Error(`the page could not derive it: ${answer.fault}`))
        else return
        this.#waiting.delete(id)
      })
      this.#worker.postMessage({ id, ...question } as ToWorker)
    })
  }

  /** Give the worker the first messages, and all notes: each once. */
  #give(len: number): Promise<void> {
    const before = this.#giving
    this.#giving = (async () => {
      await before
      const { notes, entries, join } = this.#record
      const view = this.#record.view()
      if (this.#join !== join && this.#join !== undefined) {
        this.#worker.postMessage({ restart: true } satisfies ToWorker)
        this.#sent = { messages: 0, notes: 0 }
      }
      this.#join = join
      const wanted = Math.min(len, view.length)
      while (this.#sent.messages < wanted || this.#sent.notes < notes.length) {
        const from = this.#sent.messages
        const to = Math.max(from, Math.min(wanted, from + pieceMessages))
        const messages = Array.from(
          { length: to - from },
          (_, index) => [(entries[from + index] as Entry).message, view.pages.at(from + index) as PageKind] as const,
        )
        this.#worker.postMessage({ messages, notes: notes.slice(this.#sent.notes) } satisfies ToWorker)
        this.#sent = { messages: to, notes: notes.length }
        if (to < wanted) await new Promise((resolve) => setTimeout(resolve))
      }
    })()
    return this.#giving
  }
}

/** The worker of a record: begun when it is first asked, and ended with the record. */
export const workerOf: (record: SessionRecord) => WorkerClient = memoizeByKey((record) => new WorkerClient(record))

/** The page's own script, which is its worker's as well: that of the server, or the one that stands in this file. */
const scriptUrl = (): unknown => {
  const script = document.querySelector<HTMLScriptElement>('script[type="module"]')
  const url =
    script === null || script.src !== ''
      ? new URL(script?.src ?? 'page.js', location.href).href
      : URL.createObjectURL(new Blob([script.textContent ?? ''], { type: 'text/javascript' }))
  const { trustedTypes } = globalThis as { trustedTypes?: { createPolicy: (name: string, rules: object) => Policy } }
  return (
    (policy ??= trustedTypes?.createPolicy('worker', { createScriptURL: (own: string) => own }))?.createScriptURL(
      url,
    ) ?? url
  )
}

interface Policy {
  readonly createScriptURL: (url: string) => unknown
}

let policy: Policy | undefined
