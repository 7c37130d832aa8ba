/** Plain JSON data: the only thing a record can hold, because it is the only thing that reads back equal from every store. */
export type Json = string | number | boolean | null | JsonArray | JsonObject

export type JsonArray = readonly Json[]

export type JsonObject = { readonly [key: string]: Json }
