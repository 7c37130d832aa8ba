/** Plain JSON data: the only thing a record can hold, because it is the only thing that reads back equal from every store. */
export type Json = string | number | boolean | null | JsonArray | JsonObject

/** An array of JSON data. An interface, because Immer's `Immutable` of an array type that contains itself never ends (TS2589). */
export interface JsonArray extends ReadonlyArray<Json> {}

/** An object of JSON data. */
export type JsonObject = { readonly [key: string]: Json }
