/** What the writer processes write, so that whoever reads it knows what must be there. */
import { user, type Message, type Session } from '../../src/index.ts'

/** The messages of one append: one to three, now and then with a text long enough to be a block. */
export const batchOf = (round: string, batch: number): readonly Message[] =>
  Array.from({ length: (batch % 3) + 1 }, (_, index) =>
    user(`${round}/${batch}/${index}/${batch % 5 === 0 ? 'long '.repeat(1000) : ''}`),
  )

export const textOfWriter = (writer: string, number: number): Message => user(`${writer}:${number}`)

/** What number `n` of a round does to a conversation: to one that is an array. */
export const editOf = (round: string, n: number, messages: readonly Message[]): readonly Message[] => {
  const [first, second] = [user(`${round}/${n}/a`), user(`${round}/${n}/b`)]
  if (n % 60 === 59) return []
  if (n % 5 === 2) return messages.slice(0, -1)
  if (n % 5 === 3) return [...messages.slice(0, Math.floor(messages.length * 0.75)), first]
  if (n % 5 === 4) return messages.slice(0, Math.floor(messages.length * 0.9))
  return [...messages, first, second]
}

/** The same, to that of a session. */
export const edit = (session: Session, round: string, n: number): ReturnType<Session['rewind']> => {
  const [first, second] = [user(`${round}/${n}/a`), user(`${round}/${n}/b`)]
  const conversation = session.conversation()
  const at = (share: number): number => conversation.positionAt(Math.floor(conversation.length * share)) as number
  if (n % 60 === 59) return session.rewind(0)
  if (n % 5 === 2) return session.pop() as ReturnType<Session['rewind']>
  if (n % 5 === 3) return session.rewind(at(0.75), { instead: [first] })
  if (n % 5 === 4) return session.rewind(at(0.9))
  return session.append([first, second])
}
