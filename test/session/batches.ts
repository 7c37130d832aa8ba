/** What the writer processes write, so that whoever reads it knows what must be there. */
import { user, type Message } from '../../src/index.ts'

/** The messages of one append: one to three, now and then with a text long enough to be a block. */
export const batchOf = (round: string, batch: number): readonly Message[] =>
  Array.from({ length: (batch % 3) + 1 }, (_, index) => user(`${round}/${batch}/${index}/${batch % 5 === 0 ? 'long '.repeat(1000) : ''}`))

export const textOfWriter = (writer: string, number: number): Message => user(`${writer}:${number}`)
