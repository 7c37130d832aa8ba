/** The page's side of its worker: a record is given to it as far as an answer needs, in pieces between two frames. */
// oxlint-disable unicorn/require-post-message-target-origin -- a worker's messages have no origin
import type { Message } from 'indelible/message'
import type { PageKind } from 'indelible/pages'
import type { CallPlace, Questions, Series } from './deriving.ts'
import { onceFor } from './memo.ts'
import type { PlacedNote, SessionRecord } from './record.ts'

/** Messages to the worker. */
export type ToWorker =
  | {
      readonly messages: readonly (readonly [Message, PageKind])[]
      readonly notes: readonly PlacedNote[]
    }
  | { readonly id: number; readonly name: keyof Questions; readonly asked: unknown }
  | { readonly id: number; readonly name: 'compare'; readonly calls: readonly CallPlace[]; readonly budget: number }
  | { readonly stop: number }

/** Messages from the worker. */
export type FromWorker =
  | { readonly id: number; readonly answer: unknown; readonly derived: number }
  | { readonly id: number; readonly share: number }
  | { readonly id: number; readonly series: Series }
  | { readonly id: number; readonly fault: string }

/** So many messages are given to the worker between two frames. */
const pieceMessages = 500

class WorkerClient {
  readonly #record: SessionRecord
  readonly #worker: Worker
  readonly #waiting = new Map<number, (said: FromWorker) => void>()
  #given = { messages: 0, notes: 0 }
  #giving: Promise<void> = Promise.resolve()
  #last = 0

  constructor(record: SessionRecord) {
    this.#record = record
    this.#worker = new Worker(scriptUrl() as string, { type: 'module' })
    this.#worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => this.#waiting.get(data.id)?.(data))
    this.#worker.addEventListener('error', ({ message }) => {
      for (const [id, tell] of this.#waiting) tell({ id, fault: message === '' ? 'it ended' : message })
    })
    record.gone.addEventListener('abort', () => this.#worker.terminate())
  }

  /** Ask something that the first `len` messages and the rows before `end` answer. */
  async ask<Name extends keyof Questions>(
    name: Name,
    len: number,
    asked: Parameters<Questions[Name]>[0],
  ): Promise<ReturnType<Questions[Name]>> {
    await this.#give(len)
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, (said) => {
        this.#waiting.delete(id)
        if ('fault' in said) reject(new Error(`the page could not derive it: ${said.fault}`))
        else if ('answer' in said) resolve(said.answer as ReturnType<Questions[Name]>)
      })
      this.#worker.postMessage({ id, name, asked } satisfies ToWorker)
    })
  }

  /** Compare policies over calls, until `gone`. */
  async compare(
    calls: readonly CallPlace[],
    budget: number,
    gone: AbortSignal,
    come: (series: Series) => void,
    progress: (share: number) => void,
  ): Promise<void> {
    await this.#give(Infinity)
    if (gone.aborted) return
    const id = ++this.#last
    gone.addEventListener('abort', () => this.#worker.postMessage({ stop: id } satisfies ToWorker))
    await new Promise<void>((resolve, reject) => {
      this.#waiting.set(id, (said) => {
        if ('share' in said) return progress(said.share)
        if ('series' in said) return gone.aborted ? undefined : come(said.series)
        this.#waiting.delete(id)
        if ('fault' in said) reject(new Error(said.fault))
        else resolve()
      })
      this.#worker.postMessage({ id, name: 'compare', calls, budget } satisfies ToWorker)
    })
  }

  /** Give the worker the first messages, and all notes: each once. */
  #give(len: number): Promise<void> {
    const before = this.#giving
    this.#giving = (async () => {
      await before
      const { notes } = this.#record
      const view = this.#record.view()
      const wanted = Math.min(len, view.length)
      while (this.#given.messages < wanted || this.#given.notes < notes.length) {
        const from = this.#given.messages
        const to = Math.max(from, Math.min(wanted, from + pieceMessages))
        const messages = Array.from(
          { length: to - from },
          (_, index) => [view.at(from + index) as Message, view.pages.at(from + index) as PageKind] as const,
        )
        this.#worker.postMessage({ messages, notes: notes.slice(this.#given.notes) } satisfies ToWorker)
        this.#given = { messages: to, notes: notes.length }
        if (to < wanted) await new Promise((resolve) => setTimeout(resolve))
      }
    })()
    return this.#giving
  }
}

/** The worker of a record: begun when it is first asked, and ended with the record. */
export const workerOf: (record: SessionRecord) => WorkerClient = onceFor((record) => new WorkerClient(record))

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
