/** A session's description and metadata, and updates of the metadata. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, type JsonObject } from '../../json/index.ts'
import type { Redactor } from '../../redact/index.ts'
import type { LogInfo, Store } from '../../store/index.ts'
import { ownKeyOf, ownStore } from '../../store/kit.ts'
import { callCallback } from '../../task/index.ts'
import { busyOf, type UpdateSessionFault } from '../fault.ts'
import { redactedMeta, sessionInfo, storedMeta, type SessionInfo } from '../record/metadata.ts'
import { applyRecipe } from '../record/recipe.ts'
import type { LeaseRespect, MetadataDraft } from '../session.ts'

export class SessionMetadata {
  readonly #store: Store
  readonly #redactor: Redactor | undefined
  readonly #ownKey: string | null
  #info: SessionInfo
  /** The version of the metadata. */
  #version: number
  /** Updates run one at a time: each starts from the result of the one before. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(store: Store, log: LogInfo, info: SessionInfo, redactor?: Redactor) {
    this.#redactor = redactor
    this.#store = store
    this.#info = info
    this.#version = log.version
    this.#ownKey = ownKeyOf(log) ?? null
  }

  get info(): SessionInfo {
    return this.#info
  }

  /** Update the metadata. Runs beside the writer: appends don't wait for it. */
  update(
    recipe: (metadata: MetadataDraft) => JsonObject | void,
    options: LeaseRespect,
  ): Promise<Either<UpdateSessionFault, JsonObject>> {
    const updated = this.#last.then(() => this.#updated(recipe, options))
    this.#last = updated.catch(() => undefined)
    return updated
  }

  /** Resolves once no update is pending. */
  async idle(): Promise<void> {
    await this.#last
  }

  async #updated(
    recipe: (metadata: MetadataDraft) => JsonObject | void,
    { respectLease }: LeaseRespect,
  ): Promise<Either<UpdateSessionFault, JsonObject>> {
    const { id, metadata, forkedFrom, erasable } = this.#info
    const changed = callCallback('update', () => applyRecipe(metadata, recipe))
    if (isLeft(changed)) return changed
    const meta = storedMeta(redactedMeta(this.#redactor, changed.right as JsonObject), forkedFrom, erasable)
    if (isLeft(meta)) return meta
    const answer = await ownStore(this.#store).update(id, {
      expected: this.#version,
      meta: meta.right,
      ownKey: this.#ownKey,
      respectLease: respectLease === true,
    })()
    if (isLeft(answer) && answer.left._tag !== 'MetaConflict') return left(busyOf(answer.left))
    const log = isLeft(answer) ? await this.#store.info(id)() : answer
    if (isLeft(log)) return log
    const info = sessionInfo(log.right)
    if (isLeft(info)) return info
    this.#info = info.right
    this.#version = log.right.version
    return isLeft(answer)
      ? left({ _tag: 'MetadataConflict', id, metadata: info.right.metadata })
      : right(info.right.metadata)
  }
}
