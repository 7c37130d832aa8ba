/** Plain JSON data: the only data that a record can hold, because only it reads back equal from every store. */
export type Json = string | number | boolean | null | JsonArray | JsonObject

/** An array of JSON data. An interface, because Immer's `Immutable` never ends for a recursive array type (TS2589). */
export interface JsonArray extends ReadonlyArray<Json> {}

/** An object of JSON data. */
export type JsonObject = { readonly [key: string]: Json }

/** JSON that may be changed. */
export type MutableJson = string | number | boolean | null | MutableJson[] | { [key: string]: MutableJson }
