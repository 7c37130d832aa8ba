/** What an activity throws for each fault: its class, its sentence without content, and whether to try again. */
import { expect, it } from 'vitest'
import { PermanentFailure, RetryableFailure, type ActivityFault } from '@indelible/workflows/activities'
import { failureOf } from '../../src/activities/failure.ts'

const id = 'ab'.repeat(32) as never
const secret = new Error('SECRET')
const model = (more: object): ActivityFault => ({
  ...{ _tag: 'ModelFailed', model: 'm', step: 0, reason: 'SECRET', partialText: 'SECRET', partial: {} as never },
  ...{ cause: secret, ...more },
})
const throwing = (cause: unknown): ActivityFault => ({ _tag: 'Unexpected', cause })
const threw = 'Unexpected: a function passed to the activities threw; onFailure received the error'

const failures: readonly (readonly [ActivityFault, boolean, string, object?])[] = [
  [model({}), true, 'ModelFailed: m failed'],
  [model({ cause: new TypeError('no such method') }), false, 'ModelFailed: m failed'],
  [model({ cause: new RangeError('no') }), false, 'ModelFailed: m failed'],
  [model({ cause: new ReferenceError('no') }), false, 'ModelFailed: m failed'],
  [model({ cause: new TypeError('fetch failed') }), true, 'ModelFailed: m failed'],
  [model({ cause: new TypeError('a NetworkError occurred') }), true, 'ModelFailed: m failed'],
  [model({ cause: new TypeError('failed', { cause: secret }) }), true, 'ModelFailed: m failed'],
  ...[408, 409, 429, 500, 599].map((status): readonly [ActivityFault, boolean, string, object] => [
    model({ status, retryAfter: 5 }),
    true,
    `ModelFailed: m failed with HTTP ${status}`,
    { status, retryAfter: 5 },
  ]),
  ...[400, 401, 407, 410, 428, 430, 499].map((status): readonly [ActivityFault, boolean, string, object] => [
    model({ status, retryAfter: 5 }),
    false,
    `ModelFailed: m failed with HTTP ${status}`,
    { status },
  ]),
  [throwing(secret), true, threw],
  [throwing('SECRET'), true, threw],
  [throwing(new TypeError('SECRET')), false, threw],
  [{ _tag: 'Io', operation: 'read rows', cause: secret }, true, 'Io: the store failed to read rows'],
  [{ _tag: 'Closed' }, true, 'Closed: the store is closed; open it again'],
  [
    { _tag: 'MalformedBlock', id, position: 3, reason: 'SECRET' },
    ...([false, `MalformedBlock: block ${id} does not contain the message at position 3`] as const),
  ],
  [{ _tag: 'InvalidInput', reason: 'tools should be a list' }, false, 'InvalidInput: tools should be a list'],
  [
    { _tag: 'OtherAction', action: 'a' },
    ...([
      false,
      'OtherAction: action "a" has already happened with other content; use a new id for new content',
    ] as const),
  ],
  [
    { _tag: 'ActionEnded', action: 'a' },
    ...([false, 'ActionEnded: action "a" has ended without a result; to try again, start another action with a new id'] as const), // oxfmt-ignore
  ],
  [
    { _tag: 'Superseded', action: 'a' },
    ...([false, 'Superseded: a later attempt of action "a" has begun, or the action was given up; this attempt no longer counts'] as const), // oxfmt-ignore
  ],
  [
    { _tag: 'Unpublished', action: 'a', event: 'stream_end', cause: secret },
    ...([true, 'Unpublished: the event stream_end of action "a" could not be published; retry the action: if it had an answer, the answer is stored'] as const), // oxfmt-ignore
  ],
  [
    { _tag: 'FailedBefore', action: 'a', failure: { tag: 'ModelFailed', message: 'as before', status: 503 } },
    ...([false, 'as before', { status: 503, tag: 'ModelFailed' }] as const),
  ],
]

it.each(failures.map(([fault, retryable, message, more = {}]) => ({ fault, retryable, message, more })))(
  'the failure for $fault',
  ({ fault, retryable, message, more }) => {
    const failure = failureOf(fault)
    expect(failure).toBeInstanceOf(retryable ? RetryableFailure : PermanentFailure)
    expect({ ...failure, message: failure.message }).toEqual({
      ...{ name: retryable ? 'RetryableFailure' : 'PermanentFailure', retryable, message, tag: fault._tag },
      ...more,
    })
  },
)
