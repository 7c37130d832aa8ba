/**
 * Changing metadata with an Immer recipe. Loaded when a session's metadata is first changed: Immer is a seventh of the
 * bundle of a first session, and most sessions never change theirs.
 */
import { Immer } from 'immer'
import type { JsonObject } from '../../json/index.ts'
import type { MetadataDraft } from '../session.ts'

const { produce } = new Immer({ autoFreeze: false }) // objects that a recipe puts in stay the caller's: they are copied

/** The metadata that a recipe makes of these. Throws what the recipe throws. */
export const applyRecipe = (metadata: JsonObject, recipe: (metadata: MetadataDraft) => void): unknown =>
  produce(metadata, recipe as (draft: object) => void) // JSON, made writable by Immer
