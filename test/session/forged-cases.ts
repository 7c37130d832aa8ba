/**
 * What a model is sent, of a session whose store somebody changed: no column, and no field of a row, changes it without being
 * covered by a leaf. A change is refused, or what is sent is as before.
 */
import {
  assistant,
  createSession,
  openSession,
  pending,
  system,
  toolCall,
  toolResult,
  user,
  type Store,
} from 'indelible'
import { deriveContext } from 'indelible/context'
import { eraseMessages } from 'indelible/session'

const long = 'a result that is long enough to be a block of its own '.repeat(120)

/** Stores a session with rows of every kind: messages, calls, blocks, notes, page kinds, a retraction, an erasure, a fork. */
export const storeConversation = async (store: Store): Promise<void> => {
  const session = await createSession(store, { id: 's', metadata: { title: 'a title' } })
  await session.append([system('Be brief.'), user('Use tabs, never spaces.')], { operation: 'first' })
  await session.append([
    assistant(toolCall('c1', 'read', { path: 'a.txt' })),
    toolResult('c1', long),
    assistant('The file has one line.'),
  ])
  await session.note({ type: 'application', namespace: 'app', content: { plan: 'first the tests' } })
  await session.append(user('Which port?'), { page: 'constraint' })
  await session.append(assistant('Port 8080.'))
  await session.append([user('a discarded question'), assistant('a discarded answer')])
  await session.rewind(7)
  await session.append([user('a question to erase'), assistant('an answer to keep')])
  await session.note({ type: 'summary', from: 2, to: 5, text: 'The file was read.' })
  await session.update((metadata) => void (metadata['title'] = 'another title'))
  await session.append(assistant(toolCall('c2', 'read', { path: 'b.txt' })))
  await session.close()
  await eraseMessages(store, 's', [9], { reason: 'asked to' })
  const other = await createSession(store, { id: 'other', messages: [user('of another session'), assistant(long)] })
  await other.close()
}

/** Everything that a model call is made of, as text; or that the store refuses to open the session. */
export const sentOf = async (store: Store): Promise<string> => {
  const opened = await openSession(store, 's')()
  if (opened._tag === 'Left') return `refused: ${opened.left._tag}`
  const session = opened.right
  const notes = session.notes()
  const contexts = [60, 200, 1000, 100_000].map((budget) => {
    const derived = deriveContext(session.view(), { budget, notes })
    return derived._tag === 'Right' ? Array.from(derived.right.messages) : derived.left._tag
  })
  const sent = { messages: [...session.view()], pages: [...session.view().pages], notes: [...notes], pending: pending(session), contexts } // oxfmt-ignore
  await session.close()
  return JSON.stringify(sent)
}

/** Other values of a cell. Of a text also one that has another text in it, and that of another row of the column. */
export const othersOf = (
  value: unknown,
  siblings: readonly unknown[],
): readonly (string | number | bigint | Uint8Array | null)[] => {
  const others = siblings.filter((other) => JSON.stringify(other) !== JSON.stringify(value)).slice(0, 2)
  const own = ((): readonly unknown[] => {
    if (typeof value === 'number') return [value + 1, value - 1, value + 2, 0, 1, -1, 2 ** 31, null]
    if (typeof value === 'string')
      return [
        `${value} `,
        value.replace('a', 'b'),
        value.replace(/tabs|brief|8080|port|keep/i, 'forged'),
        value.replace('"constraint"', '"evidence"'),
        value.replace('assistant', 'user'),
        value.replace(/:(\d+)/, ':9'),
        value.replace('{', '{"indelible.inherited":99,'),
        value.replace('{', '{"forged":1,'),
        '{}',
        '',
      ]
    if (value instanceof Uint8Array) return [new Uint8Array(value.length), value.with(0, (value[0] as number) ^ 1), value.subarray(1), null] // oxfmt-ignore
    return [0, 1, 'forged', new Uint8Array(16), new Uint8Array(32)]
  })()
  return [...own, ...others].filter((other) => other !== value) as never
}
