/** Changes metadata with an Immer recipe. */
import { Immer } from 'immer'
import type { JsonObject } from '../../json/index.ts'
import type { MetadataDraft } from '../session.ts'

const { produce } = new Immer({ autoFreeze: false }) // objects that a recipe inserts are copied later, so the caller's must not be frozen

/** Applies a recipe to metadata. Throws what the recipe throws. */
export const applyRecipe = (metadata: JsonObject, recipe: (metadata: MetadataDraft) => JsonObject | void): unknown =>
  produce(metadata, recipe as (draft: object) => void) // JSON, made writable by Immer
