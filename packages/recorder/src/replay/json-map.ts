/** Changes values inside of JSON. */
import { isObject, type Json, type JsonObject } from 'indelible/internal/json'

/** A copy in which each value, from the outside in, is what `change` returns; undefined leaves a field out. */
export const mapJson = (value: Json, change: (value: Json, name?: string) => Json | undefined): Json =>
  inside(change(value) ?? null, change)

const inside = (value: Json, change: (value: Json, name?: string) => Json | undefined): Json => {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => mapJson(item, change))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value as JsonObject).flatMap(([name, field]) => {
      const kept = change(field, name)
      return kept === undefined ? [] : [[name, inside(kept, change)]]
    }),
  )
}
