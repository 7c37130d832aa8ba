export type { Immutable, Recorded } from './immutable.ts'
export type { Recordable } from './recordable.ts'
export type { Json, JsonArray, JsonObject, MutableJson } from './json.ts'
export { admit, type Replaced } from './admit.ts'
export { difference } from './difference.ts'
export { isLeft, isRight, left, right } from '../either/index.ts'
export { jsonEqual, sortKeys } from './equal.ts'
export { inspectJson } from './inspect.ts'
export { freezeParsed, freezeResult } from './freeze.ts'
export { formatPath, type Path } from './path.ts'
export {
  define,
  hasField,
  isArray,
  isCount,
  isObject,
  isPolluted,
  ownField,
  ownFields,
  ownItems,
  textOfJson,
} from './own.ts'
export {
  aList,
  anObject,
  arrayAt,
  aString,
  describe,
  fieldsBeside,
  hasOnly,
  listOrEmpty,
  objectAt,
  readEach,
  readIn,
  stringAt,
  textOrEmpty,
  Unexpected,
} from './reading.ts'
export { plainOf, revivePlain, type Tag } from './plain.ts'
export { present } from './present.ts'
export { checkArgument, optionsOf, type OptionNames } from './options.ts'
export { endOfString, isTooDeep, jsonIn, jsonOrText, parseJson, scanJson, type JsonTextProblem } from './text.ts'
export { maxDepth, NotJson, ownSnapshot, snapshot, withoutPrototypes } from './snapshot.ts'
export { base64Of, base64OfText, bytesOfBase64, textOfBase64, textOfUtf8, utf8Of } from './base64.ts'
export { charactersOf, joinBytes } from './base64.ts'
