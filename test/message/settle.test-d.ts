/** `Settled` is given by `settle` and `mend`, and by nothing else. */
import { describe, expectTypeOf, it } from 'vitest'
import { mend, settle, type Message, type Sequence, type Settled, type View } from 'indelible'

declare const view: View<Message>
declare const send: (request: Settled<Sequence<Message>>) => void

describe('the Settled type', () => {
  it('is the sequence itself, with a brand', () => {
    const answer = settle(view)
    if (answer._tag === 'Right') {
      expectTypeOf(answer.right).toExtend<View<Message>>()
      send(answer.right)
    }
    send(mend(view).messages)
  })
  it('is not satisfied by a look-alike', () => {
    // @ts-expect-error a view may have open calls
    send(view)
    // @ts-expect-error an array may have open calls
    send([])
    // @ts-expect-error a copy of a settled sequence has to be settled again
    send([...mend(view).messages])
    // @ts-expect-error the fault of settle is no sequence
    send(settle(view))
  })
})
