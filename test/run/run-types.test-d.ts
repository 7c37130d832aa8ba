/** What a person writes first about a run compiles. */
import { createHistory, faultMessage, type Message, type Session } from 'indelible'
import { run, turn, type Model, type RunStream } from 'indelible/run'
import { expectTypeOf } from 'vitest'

declare const session: Session
declare const model: Model

const stream: RunStream = turn(session, 'hi', { model })
const other: RunStream = run({ model, input: 'hi' })
expectTypeOf(other).toEqualTypeOf<RunStream>()
for await (const event of stream) if (event.type === 'run_failed') expectTypeOf(faultMessage(event.fault)).toBeString()

// Editors show the name of the message type, not its fields.
expectTypeOf(createHistory<Message>().view().at(0)).toEqualTypeOf<Message | undefined>()
