/**
 * Incremental settling: recorded messages go in, settled units come out, each exactly once. It
 * repairs as `mend` does, but locally: an unanswered call gets an error result, a result without a
 * waiting call becomes a pointer, and a call with a used id gets a new one.
 *
 * It can't know in advance that a result will come late, after another message. The caller then
 * gets `late` and starts over with the late results that `settle` found.
 */
import { text, toolResult, type Message, type Meta, type Part, type ToolResultPart } from '../../message/index.ts'
import { withErasedText, createPairing, noResult, renamedCall, renamedResult, withContent } from '../../message/kit.ts'
import type { PageKind } from '../../pages/index.ts'
import type { Page, FullMessage, Unit } from './unit.ts'

/** A result recorded after another message. `position` and `part` locate it. */
export interface LateResult {
  readonly position: number
  readonly part: number
  readonly kind: PageKind
  readonly result: ToolResultPart
  /** The metadata that marks its message. */
  readonly meta?: Meta
}

/** The late results of a record, by the `placeKey` of their calls. */
export type LateResults = ReadonlyMap<string, LateResult>

export interface Settling {
  /** Adds the next message with its position in the record. Returns the completed units, or `late` to start over. */
  readonly push: (message: Message, kind: PageKind, position: number) => readonly Unit[] | 'late'
  /** The unit with open calls as it would be if the record ended here. */
  readonly open: () => Unit | undefined
  /** Closes the unit with open calls as if another message followed. */
  readonly end: () => Unit | undefined
  /** Forgets all used call ids except these, the only ones still sent. */
  readonly keep: (ids: Iterable<string>) => void
  /** The places of calls without a result, by call id. A result for one of them would be late. */
  readonly unanswered: ReadonlyMap<string, readonly [position: number, part: number]>
  /** Registers unanswered calls of a part of the record, up to a position, that is not read again. */
  readonly expectLate: (calls: Iterable<readonly [id: string, position: number, part: number]>, upTo: number) => void
}

export const placeKey = (position: number, part: number): string => `${position}/${part}`

/** @param numbers the numbers of the first calls' ids, if they are known: see `Unit` */
export const settling = (late: LateResults, numbers: readonly number[] = []): Settling => {
  const borrowed = new Map([...late].map(([call, { position, part }]) => [placeKey(position, part), call]))
  const pairing = createPairing<Pick<Call, 'id' | 'answered'>, true>()
  const taken = new Set<string>()
  /** How often each id was used, so that finding a free number for a frequent id stays cheap. */
  const times = new Map<string, number>()
  const owners = new Map<string, Unit>()
  const unanswered = new Map<string, readonly [position: number, part: number]>()
  let draft: Draft | undefined

  const close = (): Unit => {
    const unit = unitOf(draft as Draft, 'unanswered')
    for (const { late, answered, recorded, position, part } of (draft as Draft).calls)
      if (late !== undefined) owners.set(placeKey(position, part), unit)
      else if (!answered) unanswered.set(recorded, [position, part])
    draft = undefined
    return unit
  }

  const push = (recorded: Message, kind: PageKind, position: number): readonly Unit[] | 'late' => {
    const done: Unit[] = []
    const message = withErasedText(recorded)
    const { content } = message
    if (draft !== undefined && content[0]?.type !== 'tool_result') done.push(close())
    draft ??= { from: position, calls: [], entries: [], strays: noStrays, lentTo: undefined }

    const parts: Part[] = []
    if (content.length === 0) pairing.other(position)
    for (const [index, part] of content.entries()) {
      if (part.type === 'tool_result') {
        const lender = borrowed.get(placeKey(position, index))
        if (lender === undefined && pairing.isLate(part.callId)) return 'late'
        const met = lender === undefined ? pairing.result(part.callId, true) : undefined // else it is known
        if (met?.type === 'answer') {
          met.of.call.answered = true
          parts.push(renamedResult(part, met.of.call.id))
        }
        // A late result among other results becomes a pointer too: its call may be shortened without them.
        else if (lender !== undefined && draft.entries.length === 0) draft.lentTo = owners.get(lender)
        else {
          if (draft.strays === noStrays) draft.strays = new Map()
          draft.strays.set(position, { ...message, content: [...(draft.strays.get(position)?.content ?? []), part] })
        }
        continue
      }
      if (part.type !== 'tool_call') {
        pairing.other(position)
        parts.push(part)
        continue
      }
      const lent = late.get(placeKey(position, index))
      const call: Call = {
        ...freshId(part.id),
        name: part.name,
        recorded: part.id,
        position,
        part: index,
        late: lent,
        answered: false,
      }
      unanswered.delete(part.id)
      pairing.call(part.id, call, position, lent && true)
      draft.calls.push(call)
      parts.push(renamedCall(part, call.id))
    }
    const said = parts.length === 0 && content.length > 0 ? undefined : withContent(message, parts)
    draft.entries.push({ page: freeze({ position, kind }), message: said, mended: said !== message })
    if (pairing.waiting() === 0) done.push(close())
    return done
  }

  let known = 0
  /** The id itself, or with a number appended if an earlier call uses it. */
  const freshId = (id: string): Pick<Call, 'id' | 'number'> => {
    let number = numbers[known++] ?? times.get(id) ?? 0
    const withNumber = (): string => (number === 1 ? id : `${id}_${number}`)
    if (known > numbers.length) {
      do number += 1
      while (taken.has(withNumber()))
      times.set(id, number)
    }
    taken.add(withNumber())
    return { id: withNumber(), number }
  }

  return {
    push,
    open: () => draft && unitOf(draft, 'interrupted'),
    end: () => draft && close(),
    keep: (ids) => {
      taken.clear()
      times.clear()
      for (const id of ids) taken.add(id)
    },
    unanswered,
    expectLate: (calls, upTo) => {
      for (const [id, position, part] of calls) {
        unanswered.set(id, [position, part])
        pairing.call(id, { id, answered: false }, upTo)
      }
      pairing.other(upTo + 1)
    },
  }
}

/** A unit under construction. */
interface Draft {
  readonly from: number
  readonly calls: Call[]
  readonly entries: { readonly page: Page; readonly message: Message | undefined; readonly mended: boolean }[]
  strays: Map<number, Message>
  lentTo: Unit | undefined
}

interface Call {
  /** The recorded id, or a new one with `number` appended if it was used. */
  readonly id: string
  readonly number: number
  readonly name: string
  /** The recorded id and where the call was recorded. */
  readonly recorded: string
  readonly position: number
  readonly part: number
  readonly late: LateResult | undefined
  answered: boolean
}

const { freeze } = Object

const noStrays = new Map<number, Message>()
const noTools: ReadonlyMap<string, string> = new Map()

const unitOf = (draft: Draft, reason: 'unanswered' | 'interrupted'): Unit => {
  const said: FullMessage[] = []
  const pages = draft.entries.map(({ page }) => page)
  for (const { page, message, mended } of draft.entries) {
    if (message === undefined) continue
    said.push({ message, source: freeze({ type: 'clone', position: page.position, ...(mended && { mended }) }), page })
    for (const { id, name, position, late, answered } of draft.calls) {
      if (position !== page.position || answered) continue
      if (late === undefined) {
        const source = freeze({ type: 'synthetic', callId: id, position, reason } as const)
        said.push({
          message: toolResult(id, [text(missing[reason])], { name, isError: true }),
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
            content: freeze([renamedResult(late.result, id)]),
            ...(late.meta && { meta: late.meta }),
          }),
          source,
          page: lent,
        })
      }
    }
  }
  const { from, strays, lentTo } = draft
  const tools = draft.calls.length === 0 ? noTools : new Map(draft.calls.map(({ id, name }) => [id, name]))
  const to = 1 + (draft.entries.at(-1)?.page.position ?? from)
  const given = draft.calls.map(({ number }) => number)
  const numbers = given.some((number) => number !== 1) ? given : undefined
  return { from, to, pages, said, strays, lentTo, tools, numbers, facts: undefined, worth: undefined }
}

const missing = {
  unanswered: noResult,
  interrupted: 'Interrupted: no result has been recorded for this call.',
} as const
