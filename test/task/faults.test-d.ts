/** Each function's type names the faults that it can give, and no others. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type {
  createSession,
  forkSession,
  importTranscript,
  listSessions,
  openSession,
  readSession,
  verifySession,
} from 'indelible'
import { type Fault, type Session, type Store } from 'indelible'
import type {
  checkProof,
  copySession,
  describeSession,
  exportSession,
  listUnfinished,
  proveEntry,
  readRange,
} from 'indelible/session'
import type { verifyLog } from 'indelible/store'
import { describe, expectTypeOf, it } from 'vitest'

/** The tags of the faults that a function gives. */
type Tags<F extends (...given: never) => unknown> =
  ReturnType<F> extends TaskEither<infer E, unknown>
    ? TagOf<E>
    : ReturnType<F> extends Either<infer E, unknown>
      ? TagOf<E>
      : never
type TagOf<E> = E extends { readonly _tag: infer Tag } ? Tag : never

/** What any call of a store can meet. */
type Medium = 'Closed' | 'Busy' | 'ReadOnly' | 'Full' | 'FileReplaced' | 'NotAStore' | 'Io'
type Log = Medium | 'InvalidId' | 'NoSuchLog' | 'DamagedLog'
type NoSession = 'NotASession' | 'UnfinishedSession' | 'NewerSession'

it('every fault is one of the library', () => {
  expectTypeOf<
    Tags<typeof openSession> | Tags<typeof importTranscript> | Tags<Session['update']> | Tags<Store['append']>
  >().toExtend<Fault['_tag']>()
})

describe('of a store', () => {
  it('a read is no conflict', () => {
    expectTypeOf<Tags<Store['read']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['info']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['nodes']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['remove']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['leaseOf']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['requestStop']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['release']>>().toEqualTypeOf<Log>()
  })
  it('a write names what it checks', () => {
    expectTypeOf<Tags<Store['create']>>().toEqualTypeOf<
      | Medium
      | 'InvalidId'
      | 'InvalidMeta'
      | 'InvalidRow'
      | 'LogExists'
      | 'MissingBlock'
      | 'UnusedBlock'
      | 'DamagedBlock'
      | 'DamagedLog'
    >()
    expectTypeOf<Tags<Store['append']>>().toEqualTypeOf<
      | Log
      | 'Conflict'
      | 'Diverged'
      | 'OperationMismatch'
      | 'InvalidRow'
      | 'MissingBlock'
      | 'UnusedBlock'
      | 'DamagedBlock'
      | 'LeaseHeld'
      | 'LeaseLost'
    >()
    expectTypeOf<Tags<Store['update']>>().toEqualTypeOf<Log | 'InvalidMeta' | 'MetaConflict'>()
    expectTypeOf<Tags<Store['fork']>>().toEqualTypeOf<Log | 'InvalidMeta' | 'BeyondEnd' | 'LogExists'>()
    expectTypeOf<Tags<Store['lease']>>().toEqualTypeOf<Log | 'InvalidLease' | 'LeaseHeld'>()
    expectTypeOf<Tags<Store['renew']>>().toEqualTypeOf<Log | 'InvalidLease' | 'LeaseLost'>()
  })
  it('blocks have no log', () => {
    expectTypeOf<Tags<Store['putBlocks']>>().toEqualTypeOf<Medium>()
    expectTypeOf<Tags<Store['getBlocks']>>().toEqualTypeOf<Medium | 'InvalidId' | 'DamagedBlock'>()
    expectTypeOf<Tags<Store['check']>>().toEqualTypeOf<Medium>()
    expectTypeOf<Tags<Store['scoped']>>().toEqualTypeOf<'InvalidId'>()
    expectTypeOf<Tags<Store['close']>>().toEqualTypeOf<'Io'>()
  })
  it('a verification finds damage and another record', () => {
    expectTypeOf<TagOf<ReturnType<typeof verifyLog> extends TaskEither<infer E, unknown> ? E : never>>().toEqualTypeOf<
      Log | 'Diverged' | 'CallbackThrew'
    >()
  })
})

describe('of a session', () => {
  it('a read is no conflict', () => {
    expectTypeOf<Tags<typeof readRange>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<typeof readSession>>().toEqualTypeOf<Log | NoSession>()
    expectTypeOf<Tags<typeof describeSession>>().toEqualTypeOf<Log | NoSession>()
    expectTypeOf<Tags<typeof exportSession>>().toEqualTypeOf<Log | NoSession>()
    expectTypeOf<Tags<typeof openSession>>().toEqualTypeOf<Log | NoSession | 'SessionSealed'>()
    expectTypeOf<Tags<typeof listSessions>>().toEqualTypeOf<Medium | 'InvalidId' | 'InvalidMeta' | NoSession>()
    expectTypeOf<Tags<typeof listUnfinished>>().toEqualTypeOf<Medium | 'InvalidId' | 'InvalidMeta'>()
    expectTypeOf<Tags<typeof verifySession>>().toEqualTypeOf<Log | NoSession | 'Diverged' | 'CallbackThrew'>()
    expectTypeOf<Tags<typeof proveEntry>>().toEqualTypeOf<Log | NoSession | 'BeyondEnd'>()
    expectTypeOf<Tags<typeof checkProof>>().toEqualTypeOf<'BadProof'>()
    expectTypeOf<Tags<Session['refresh']>>().toEqualTypeOf<Log | 'Diverged' | 'SessionClosed'>()
    expectTypeOf<Tags<Session['leaseOf']>>().toEqualTypeOf<Log>()
  })
  it('a close does not fail', () => {
    expectTypeOf<Tags<Session['close']>>().toEqualTypeOf<never>()
  })
  it('no write is what only a proof, an import or another store can be', () => {
    type Others = 'BadProof' | 'OtherHead' | 'StopRequested' | 'NoStore' | 'NewerStore' | 'MetaConflict' | 'LeaseHeld'
    expectTypeOf<
      Extract<Tags<Session['append']>, Others | 'CallbackThrew' | 'MetadataConflict'>
    >().toEqualTypeOf<never>()
    expectTypeOf<Extract<Tags<Session['update']>, Others>>().toEqualTypeOf<never>()
    expectTypeOf<Extract<Tags<typeof createSession>, Others | 'SessionConflict' | 'NoSuchLog'>>().toEqualTypeOf<never>()
    expectTypeOf<Extract<Tags<typeof forkSession>, Others | 'Conflict' | 'SessionConflict'>>().toEqualTypeOf<never>()
    expectTypeOf<
      Extract<Tags<typeof copySession>, 'SessionConflict' | 'BadProof' | 'SessionClosed'>
    >().toEqualTypeOf<never>()
  })
})
