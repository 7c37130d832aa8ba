/** Each function's type names the faults that it can give, and no others. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type {
  createSession,
  decodeMessage,
  Fault,
  forkSession,
  listSessions,
  openaiChat,
  openSession,
  readSession,
  Session,
  settle,
  Store,
  verifySession,
} from 'indelible'
import type { deriveContext, prepareSummaries, recall } from 'indelible/context'
import type { applyDelta, restoreHistory } from 'indelible/history'
import type { appendText } from '../../src/history/internal.ts'
import type { ContentStore, openCallLog, StoredCallLog } from '@indelible/records'
import type { adoptHistory, hydrate, hydratePartial, parseHistoryJson, persist } from '@indelible/workflows/refs'
import type { historyHandler, modelFor, run, sessionHandler } from 'indelible/run'
import type {
  checkProof,
  copySession,
  describeSession,
  exportSession,
  listUnfinished,
  proveEntry,
  readRange,
  WriteFault,
} from 'indelible/session'
import type { verifyLog } from 'indelible/store'
import { describe, expectTypeOf, it } from 'vitest'
import type { importTranscript } from '@indelible/transcripts'
import type { readTranscript } from '@indelible/transcripts'

/** The tags of the faults that a function gives. */
type Tags<F extends (...given: never) => unknown> =
  ReturnType<F> extends TaskEither<infer E, unknown>
    ? TagOf<E>
    : ReturnType<F> extends Either<infer E, unknown>
      ? TagOf<E>
      : never
type TagOf<E> = E extends { readonly _tag: infer Tag } ? Tag : never

/** What any call of a store can meet. */
type Medium = 'Cancelled' | 'Closed' | 'Busy' | 'ReadOnly' | 'Full' | 'FileReplaced' | 'NotAStore' | 'Io'
type Log = Medium | 'InvalidId' | 'NoSuchLog' | 'DamagedLog' | 'NoKey'
type NoSession = 'NotASession' | 'UnfinishedSession' | 'NewerSession'

it('every fault type belongs to the Fault union', () => {
  expectTypeOf<
    Tags<typeof openSession> | Tags<typeof importTranscript> | Tags<Session['update']> | Tags<Store['append']>
  >().toExtend<Fault['_tag']>()
})

describe('store faults', () => {
  it('exclude Conflict for a read', () => {
    expectTypeOf<Tags<Store['read']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['info']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['nodes']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['remove']>>().toEqualTypeOf<Log | 'LogHeld' | 'NotALedger'>()
    expectTypeOf<Tags<Store['leaseOf']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['requestStop']>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<Store['release']>>().toEqualTypeOf<Log>()
  })
  it("name a write's checks", () => {
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
      | 'NoKey'
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
    expectTypeOf<Tags<Store['update']>>().toEqualTypeOf<
      Log | 'InvalidMeta' | 'MetaConflict' | 'LeaseHeld' | 'LeaseLost'
    >()
    expectTypeOf<Tags<Store['fork']>>().toEqualTypeOf<Log | 'InvalidMeta' | 'BeyondEnd' | 'LogExists'>()
    expectTypeOf<Tags<Store['lease']>>().toEqualTypeOf<Log | 'InvalidLease' | 'LeaseHeld'>()
    expectTypeOf<Tags<Store['renew']>>().toEqualTypeOf<Log | 'InvalidLease' | 'LeaseLost'>()
  })
  it('exclude log faults for blocks', () => {
    expectTypeOf<Tags<Store['putBlocks']>>().toEqualTypeOf<Medium>()
    expectTypeOf<Tags<Store['getBlocks']>>().toEqualTypeOf<Medium | 'InvalidId' | 'DamagedBlock' | 'NoKey'>()
    expectTypeOf<Tags<Store['check']>>().toEqualTypeOf<Medium>()
    expectTypeOf<Tags<Store['scoped']>>().toEqualTypeOf<'InvalidId'>()
    expectTypeOf<Tags<Store['close']>>().toEqualTypeOf<'Io'>()
  })
  it('include damage and another record for a verification', () => {
    expectTypeOf<TagOf<ReturnType<typeof verifyLog> extends TaskEither<infer E, unknown> ? E : never>>().toEqualTypeOf<
      Log | 'Diverged' | 'CallbackThrew'
    >()
  })
})

describe('session faults', () => {
  it('exclude Conflict for a read', () => {
    expectTypeOf<Tags<typeof readRange>>().toEqualTypeOf<Log>()
    expectTypeOf<Tags<typeof readSession>>().toEqualTypeOf<Log | NoSession>()
    expectTypeOf<Tags<typeof describeSession>>().toEqualTypeOf<Log | NoSession>()
    expectTypeOf<Tags<typeof exportSession>>().toEqualTypeOf<Log | NoSession>()
    expectTypeOf<Tags<typeof openSession>>().toEqualTypeOf<Log | NoSession | 'SessionSealed'>()
    expectTypeOf<Tags<typeof listSessions>>().toEqualTypeOf<Medium | 'InvalidId' | 'InvalidMeta' | NoSession>()
    expectTypeOf<Tags<typeof listUnfinished>>().toEqualTypeOf<Medium | 'InvalidId' | 'InvalidMeta'>()
    expectTypeOf<Tags<typeof verifySession>>().toEqualTypeOf<Log | NoSession | 'Diverged' | 'CallbackThrew'>()
    expectTypeOf<Tags<typeof proveEntry>>().toEqualTypeOf<
      Log | NoSession | 'BeyondEnd' | 'MessageErased' | 'MessageEncrypted' | 'NotALedger'
    >()
    expectTypeOf<Tags<typeof checkProof>>().toEqualTypeOf<'BadProof'>()
    expectTypeOf<Tags<Session['refresh']>>().toEqualTypeOf<Log | 'Diverged' | 'SessionClosed'>()
  })
  it('are never for close', () => {
    expectTypeOf<Tags<Session['close']>>().toEqualTypeOf<never>()
  })
  it('exclude from writes the faults of proofs, imports and other stores', () => {
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

describe('faults of histories, messages and formats', () => {
  it('differ for saved state, deltas and texts', () => {
    expectTypeOf<Tags<typeof restoreHistory>>().toEqualTypeOf<
      | 'NotSavedHistory'
      | 'UndecodableMessage'
      | 'UnrecordableMessage'
      | 'TooManyPages'
      | 'UnknownPage'
      | 'CallbackThrew'
    >()
    expectTypeOf<Tags<typeof applyDelta>>().toEqualTypeOf<
      'NotADelta' | 'DeltaGap' | 'DeltaMismatch' | 'UnrecordableMessage' | 'CallbackThrew'
    >()
    expectTypeOf<Tags<typeof appendText>>().toEqualTypeOf<
      'UnrecordableMessage' | 'UndecodableMessage' | 'CallbackThrew'
    >()
    expectTypeOf<Tags<typeof settle>>().toEqualTypeOf<'Unsettled'>()
    expectTypeOf<Tags<typeof decodeMessage>>().toEqualTypeOf<'UnexpectedShape' | 'NotPlainJson'>()
  })
  it('differ for decoding and encoding', () => {
    expectTypeOf<Tags<typeof openaiChat.decode>>().toEqualTypeOf<'UnexpectedWire' | 'WireNotJson'>()
    expectTypeOf<Tags<typeof openaiChat.encode>>().toEqualTypeOf<'UnresolvedBlock' | 'CallbackThrew'>()
    expectTypeOf<Tags<typeof readTranscript>>().toEqualTypeOf<
      'InvalidJson' | 'UnknownFormat' | 'UnexpectedWire' | 'WireNotJson' | 'DamagedLine' | 'NoSuchConversation'
    >()
  })
})

describe('faults of contexts, runs, refs and records', () => {
  it('differ for deriving, summarizing and recalling', () => {
    expectTypeOf<Tags<typeof deriveContext>>().toEqualTypeOf<'MinimumDoesNotFit'>()
    expectTypeOf<Tags<typeof prepareSummaries>>().toEqualTypeOf<'SummarizerFailed'>()
    expectTypeOf<Tags<typeof recall>>().toEqualTypeOf<'NoMatch' | 'Denied' | 'SearchFailed'>()
  })
  it('exclude model selection once a run has started', () => {
    type NoModel = 'UnspecifiedModel' | 'UnknownModelType' | 'UnconfiguredModel' | 'MissingKey'
    expectTypeOf<Tags<typeof modelFor>>().toEqualTypeOf<NoModel>()
    expectTypeOf<Extract<Tags<ReturnType<typeof run>['result']>, NoModel>>().toEqualTypeOf<never>()
    expectTypeOf<Tags<ReturnType<typeof historyHandler>>>().toEqualTypeOf<Tags<typeof applyDelta>>()
    expectTypeOf<ReturnType<ReturnType<typeof sessionHandler>>>().toEqualTypeOf<Promise<Either<WriteFault, unknown>>>()
  })
  it('refs', () => {
    type Block = Medium | 'InvalidId' | 'DamagedBlock' | 'NoKey'
    type Tree = Block | 'MalformedTree' | 'MissingBlock'
    expectTypeOf<Tags<typeof parseHistoryJson>>().toEqualTypeOf<'UnreadableHistory' | 'NewerRefs'>()
    expectTypeOf<Tags<typeof hydrate>>().toEqualTypeOf<Tree | 'OtherScope' | 'MalformedBlock'>()
    expectTypeOf<Tags<typeof hydratePartial>>().toEqualTypeOf<Tree | 'OtherScope'>()
    expectTypeOf<Tags<typeof persist>>().toEqualTypeOf<Block | 'OtherScope' | 'MissingBlock'>()
    expectTypeOf<Tags<typeof adoptHistory>>().toEqualTypeOf<
      'MissingKeys' | 'MalformedContent' | 'Io' | 'CallbackThrew'
    >()
  })
  it('records', () => {
    expectTypeOf<Tags<ContentStore['put']>>().toEqualTypeOf<'ContentTooLarge'>()
    expectTypeOf<Tags<ContentStore['get']>>().toEqualTypeOf<'ContentMiss'>()
    expectTypeOf<Tags<StoredCallLog['flush']>>().toEqualTypeOf<Tags<Store['append']>>()
    expectTypeOf<Extract<Tags<typeof openCallLog>, 'SessionConflict' | 'BeyondEnd'>>().toEqualTypeOf<never>()
  })
})
