/** What a session is called. */
import type { ViewedSession } from '../../src/view/protocol.ts'

/** Its title, or that of the file it was imported from, or its id. */
export const titleOf = ({ id, metadata }: Pick<ViewedSession, 'id' | 'metadata'>): string => {
  const from = metadata['from']
  const imported =
    typeof from === 'object' && from !== null && !Array.isArray(from)
      ? (from as { readonly title?: unknown }).title
      : undefined
  const title = metadata['title'] ?? imported
  return typeof title === 'string' && title.trim() !== '' ? title : id
}

/** When something was said last: of an imported session that nothing was appended to, the time that its file tells. */
export const activityOf = ({ created, appended, metadata }: ViewedSession): number => {
  const from = metadata['from']
  const ended =
    typeof from === 'object' && from !== null && !Array.isArray(from)
      ? (from as { readonly ended?: unknown }).ended
      : undefined
  const time = typeof ended === 'string' && appended <= created ? Date.parse(ended) : NaN
  return Number.isNaN(time) ? appended : time
}
