/**
 * Settling as the record grows: recorded messages in, settled units out, one at a time and never again. What `mend`
 * does to a whole conversation is done here at the place where it is found: an unanswered call gets an error result, a
 * result that nothing waits for is left to a pointer, and a call with an id that was used before gets one of its own.
 *
 * One thing can't be known in advance: that a result will come after something else was said. Whoever drives the
 * settling learns of it (`late`) and begins again with the places that `settle` found.
 */
import {
  text,
  toolResult,
  type Message,
  type Meta,
  type Part,
  type ToolCallPart,
  type ToolResultPart,
} from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { Page, Said, Unit } from './unit.ts'

/** A result that stands after something else was said, by the place of its call. */
export interface LateResult {
  readonly position: number
  readonly part: number
  readonly kind: PageKind
  readonly result: ToolResultPart
  /** What its message is marked as. */
  readonly meta?: Meta
}

/** The late results of a record, by `placeKey` of their call. */
export type LateResults = ReadonlyMap<string, LateResult>

export interface Settling {
  /** Take the next message of the conversation, and where it stands in the record. Gives the units that are complete with it, or `late`: begin again. */
  readonly push: (message: Message, kind: PageKind, position: number) => readonly Unit[] | 'late'
  /** The unit that calls are still open in, as it would be if the record ended here. */
  readonly open: () => Unit | undefined
}

export const placeKey = (position: number, part: number): string => `${position}/${part}`

export const settling = (late: LateResults): Settling => {
  const borrowed = new Map([...late].map(([call, { position, part }]) => [placeKey(position, part), call]))
  /** The latest call of every id. */
  const calls = new Map<string, Call>()
  const taken = new Set<string>()
  /** How often each id has been given out, so that one that every call has costs no more than others. */
  const times = new Map<string, number>()
  const owners = new Map<string, Unit>()
  let draft: Draft | undefined
  let waiting = new Map<string, Call>()

  const close = (): Unit => {
    const unit = unitOf(draft as Draft, 'unanswered')
    for (const { call, key } of (draft as Draft).calls) {
      if (!late.has(key)) continue
      owners.set(key, unit)
      call.answered = true
    }
    draft = undefined
    waiting = new Map()
    return unit
  }

  const push = (message: Message, kind: PageKind, position: number): readonly Unit[] | 'late' => {
    const done: Unit[] = []
    const { content } = message
    if (draft !== undefined && content[0]?.type !== 'tool_result') done.push(close())
    draft ??= { from: position, pages: [], calls: [], entries: [], strays: [], lentTo: undefined }

    const parts: Part[] = []
    let changed = false
    let own = false // whether the calls that wait were made in this message
    for (const [index, part] of content.entries()) {
      if (part.type === 'tool_result') {
        const call = waiting.get(part.callId)
        const lender = borrowed.get(placeKey(position, index))
        if (call !== undefined) {
          call.answered = true
          waiting.delete(part.callId)
          parts.push(renamedResult(part, call.id))
          changed ||= call.id !== part.callId
          continue
        }
        changed = true
        // Amid other results a late one is pointed at, too: its call may be degraded without them.
        if (lender !== undefined && draft.pages.length === 0) draft.lentTo = owners.get(lender)
        else if (lender !== undefined) draft.strays.push(position)
        else if (calls.get(part.callId)?.answered === false) return 'late'
        else draft.strays.push(position)
        continue
      }
      if (!own && waiting.size > 0) waiting = new Map()
      own = true
      if (part.type !== 'tool_call') {
        parts.push(part)
        continue
      }
      const key = placeKey(position, index)
      const call: Call = { id: freshId(part.id), recorded: part.id, name: part.name, answered: false }
      calls.set(part.id, call)
      waiting.set(part.id, call)
      draft.calls.push({ call, key, position, late: late.get(key) })
      parts.push(renamedCall(part, call.id))
      changed ||= call.id !== part.id
    }
    const page = Object.freeze({ position, kind })
    draft.pages.push(page)
    draft.entries.push({
      page,
      message:
        parts.length === 0 && content.length > 0
          ? undefined
          : changed
            ? freeze({ ...message, content: freeze(parts) })
            : message,
      mended: changed,
    })
    // Late answers do not keep a call waiting: they are known.
    for (const { call, key } of draft.calls) if (late.has(key)) waiting.delete(call.recorded)
    if (waiting.size === 0) done.push(close())
    return done
  }

  /** The id itself, or one with a number where an earlier call has it. */
  const freshId = (id: string): string => {
    let count = times.get(id) ?? 0
    let fresh: string
    do fresh = (count += 1) === 1 ? id : `${id}_${count}`
    while (taken.has(fresh))
    times.set(id, count)
    taken.add(fresh)
    return fresh
  }

  return { push, open: () => draft && unitOf(draft, 'interrupted') }
}

/** A unit that is being made. */
interface Draft {
  readonly from: number
  readonly pages: Page[]
  readonly calls: {
    readonly call: Call
    readonly key: string
    readonly position: number
    readonly late: LateResult | undefined
  }[]
  readonly entries: { readonly page: Page; readonly message: Message | undefined; readonly mended: boolean }[]
  readonly strays: number[]
  lentTo: Unit | undefined
}

interface Call {
  readonly recorded: string
  /** `recorded`, or another where that was taken. */
  readonly id: string
  readonly name: string
  answered: boolean
}

const { freeze } = Object

const unitOf = (draft: Draft, reason: 'unanswered' | 'interrupted'): Unit => {
  const said: Said[] = []
  const pages = [...draft.pages]
  for (const { page, message, mended } of draft.entries) {
    if (message === undefined) continue
    said.push({ message, source: freeze({ type: 'clone', position: page.position, ...(mended && { mended }) }), page })
    for (const { call, position, late } of draft.calls) {
      if (position !== page.position || call.answered) continue
      if (late === undefined) {
        const source = freeze({ type: 'synthetic', callId: call.id, position, reason } as const)
        said.push({
          message: toolResult(call.id, [text(missing[reason])], { name: call.name, isError: true }),
          source,
          page,
        })
      } else {
        const lent = freeze({ position: late.position, kind: late.kind })
        pages.push(lent)
        const source = freeze({ type: 'clone', position: late.position, mended: true } as const)
        said.push({
          message: freeze({
            role: 'tool',
            content: freeze([renamedResult(late.result, call.id)]),
            ...(late.meta && { meta: late.meta }),
          }),
          source,
          page: lent,
        })
      }
    }
  }
  const { from, strays, lentTo } = draft
  const tools = new Map(draft.calls.map(({ call }) => [call.id, call.name]))
  const to = 1 + (draft.pages.at(-1)?.position ?? from)
  return freeze({ from, to, pages, said, strays: [...new Set(strays)], lentTo, tools })
}

const missing = {
  unanswered: 'No result was recorded for this call.',
  interrupted: 'Interrupted: no result has been recorded for this call.',
} as const

const renamedCall = (part: ToolCallPart, id: string): ToolCallPart => (part.id === id ? part : freeze({ ...part, id }))

const renamedResult = (part: ToolResultPart, id: string): ToolResultPart =>
  part.callId === id ? part : freeze({ ...part, callId: id })
