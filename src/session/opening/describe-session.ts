/** A session's metadata: notes in the log, and the store's description of the latest, which lists read. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, jsonEqual, left, right, type JsonObject } from '../../json/index.ts'
import { decodeNote } from '../../notes/internal.ts'
import { noteFaultText } from '../../notes/fault.ts'
import type { LogInfo } from '../../store/index.ts'
import { ownStore } from '../../store/internal.ts'
import { callCallback } from '../../task/index.ts'
import { busyOf, type UpdateSessionFault } from '../fault.ts'
import { redactedMeta, sessionInfo, storedMeta, withoutOwnKeys, type SessionInfo } from '../record/metadata.ts'
import { applyRecipe, metadataNote } from '../record/metadata-notes.ts'
import { metadataOf, type LoadedRecord } from '../record/loaded-record.ts'
import { rowsOfNote } from '../record/rows.ts'
import type { Step, StepRows } from '../record/step.ts'
import type { LeaseRespect, MetadataDraft } from '../session.ts'
import { guardStore } from '../writing/guard-store.ts'
import type { WrittenStore } from '../record/store-of.ts'
import type { Writer } from '../writing/writer.ts'

type Recipe = (metadata: MetadataDraft) => JsonObject | void

export class SessionMetadata {
  readonly #written: WrittenStore
  readonly #record: LoadedRecord
  readonly #writer: Writer
  readonly #kept: Pick<SessionInfo, 'forkedFrom' | 'erasable'>
  /** The version of the store's description. */
  #version: number
  /** Descriptions are stored one at a time: each names the version that the one before it left. */
  #last: Promise<unknown> | undefined
  #updates: readonly Promise<unknown>[] = []

  constructor(written: WrittenStore, log: LogInfo, info: SessionInfo, record: LoadedRecord, writer: Writer) {
    this.#written = written
    this.#kept = { forkedFrom: info.forkedFrom, erasable: info.erasable }
    this.#record = record
    this.#writer = writer
    this.#version = log.version
  }

  /** Resolves once no update is pending. The writer must be closed. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#updates)
  }

  /** Update the metadata, in order with all other steps. */
  update(recipe: Recipe, options: LeaseRespect): Promise<Either<UpdateSessionFault, JsonObject>> {
    const updated = this.#updated(recipe, options)
    const ended = (): void => void (this.#updates = this.#updates.filter((update) => update !== updated))
    this.#updates = [...this.#updates, updated]
    updated.then(ended, ended)
    return updated
  }

  async #updated(recipe: Recipe, { respectLease }: LeaseRespect): Promise<Either<UpdateSessionFault, JsonObject>> {
    let problem: UpdateSessionFault | undefined
    const step: Step = {
      continues: { type: 'end' },
      messages: 0,
      notes: 1,
      operation: undefined,
      respectLease: respectLease === true,
      waits: true,
      afterSeal: true,
      rows: () => {
        const made = this.#rowsOf(recipe) // called again after a conflict, with the metadata that the other writer left
        problem = isLeft(made) ? made.left : undefined
        return isLeft(made) ? left({ _tag: 'InvalidNote', reason: 'the metadata was not changed' }) : made
      },
    }
    const appended = await this.#writer.append(step)
    if (problem !== undefined) return left(problem)
    if (isLeft(appended)) return appended
    const metadata = metadataOf(this.#record)
    const described = (this.#last ?? Promise.resolve()).then(() => this.#describe())
    this.#last = described.catch(() => undefined)
    const answer = await described
    return isLeft(answer) ? answer : right(metadata)
  }

  /** The rows of a change: one note, or none if nothing changes. */
  #rowsOf(recipe: Recipe): Either<UpdateSessionFault, StepRows> {
    const { redactor, metadata: entries, inherited } = this.#record
    const before = metadataOf(this.#record)
    const changed = callCallback('update', () => applyRecipe(before, recipe))
    if (isLeft(changed)) return changed
    const redacted = redactedMeta(redactor, changed.right.value as JsonObject)
    const stored = this.#stored(redacted)
    if (isLeft(stored)) return stored
    const value = withoutOwnKeys(stored.right)
    if (jsonEqual(value, before)) return right({ rows: [], blocks: [], entries: [], apply: () => undefined })
    const patches = redactor === undefined ? changed.right.patches : undefined // they have what was redacted
    const note = decodeNote(metadataNote(entries, inherited, before, value, patches))
    if (isLeft(note)) return left({ _tag: 'InvalidNote', reason: noteFaultText(note.left) })
    return right(rowsOfNote(this.#record, note.right))
  }

  #stored(metadata: JsonObject): ReturnType<typeof storedMeta> {
    const { forkedFrom, erasable } = this.#kept
    return storedMeta(metadata, forkedFrom, erasable, this.#record.inherited)
  }

  /** Brings the store's description up to date. A crash before it leaves an older one, until the next update. */
  async #describe(): Promise<Either<UpdateSessionFault, void>> {
    const { id } = this.#record
    for (;;) {
      const metadata = metadataOf(this.#record)
      const meta = this.#stored(metadata)
      if (isLeft(meta)) return meta
      const expected = this.#version
      const update = { expected, meta: meta.right, ownKey: this.#writer.ownKey }
      const answer = await guardStore('update', () => ownStore(this.#written.store).update(id, update)())
      if (!isLeft(answer)) {
        this.#version = answer.right.version
        return right(undefined)
      }
      if (answer.left._tag !== 'MetaConflict') return left(busyOf(answer.left))
      const log = await guardStore('info', () => this.#written.store.info(id)())
      if (isLeft(log)) return log
      const info = sessionInfo(log.right)
      if (isLeft(info)) return info
      this.#version = log.right.version
      if (jsonEqual(info.right.metadata, metadata)) return right(undefined)
      const read = await this.#writer.read() // another writer may have described a later change
      if (isLeft(read)) return read
    }
  }
}
