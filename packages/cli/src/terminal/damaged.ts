/** The damaged messages of a session: their role, page kind and text are not known. */
import type { View } from 'indelible/history'
import type { Message } from 'indelible/message'

/** The reason why each message is damaged, by its position. */
export type DamagedMessages = ReadonlyMap<number, string>

export const noDamage: DamagedMessages = new Map()

/** The damaged messages of a session or an export, by position. */
export const damagedMessages = (
  damaged: readonly { readonly position?: number; readonly reason: string }[],
): DamagedMessages =>
  new Map(damaged.flatMap(({ position, reason }) => (position === undefined ? [] : [[position, reason] as const])))

/**
 * The damaged message that may have the result of a call, or the call of a result: only messages with results are between.
 *
 * Cost    O(results of the turn); O(1) if nothing is damaged
 *
 * @param index the index of the call's or result's message in the view
 * @returns the position of the damaged message; undefined if the call or result lacks the other
 */
export const damagedNear = (
  view: View<Message>,
  damaged: DamagedMessages,
  index: number,
  look: 'before' | 'after',
): number | undefined => {
  if (damaged.size === 0) return undefined
  const step = look === 'before' ? -1 : 1
  for (let at = index + step; at >= 0 && at < view.length; at += step) {
    const position = view.positionAt(at)
    if (position !== undefined && damaged.has(position)) return position
    const { content } = view.at(at) as Message
    if (!content.some((part) => part.type === 'tool_result' || (part.type === 'erased' && part.callId !== undefined)))
      return undefined
  }
  return undefined
}
