export type { Immutable } from './immutable.ts'
export type { Recordable } from './recordable.ts'
export type { Json, JsonArray, JsonObject, MutableJson } from './json.ts'
export { admit, type Admitted, type Replaced } from './admit.ts'
export { difference } from './difference.ts'
export { eachRight, isLeft, isRight, left, mapRight, right } from './either.ts'
export { jsonEqual, sortKeys } from './equal.ts'
export { inspectJson, type Finding, type Inspected } from './inspect.ts'
export { freezeParsed, freezeResult } from './freeze.ts'
export { ReturnsArgument } from './returns-argument.ts'
export { formatPath, joinPaths, type Path } from './path.ts'
export { textOfJson } from './stringify.ts'
export { arrayOf, buildArray, emptyList, filterEach, freezeEach, mapEach } from './list.ts'
export {
  apply,
  withoutPollution,
  codeAt,
  create,
  define,
  exec,
  freeze,
  fromCodes,
  hasField,
  hasOwn,
  indexIn,
  isArray,
  isPolluted,
  isSafeInteger,
  keysOf,
  lengthOfBytes,
  ownField,
  ownFields,
  OwnMap,
  OwnSet,
  parseText,
  setPrototypeOf,
  sliceText,
  stringify,
  bindMethod,
} from './builtins.ts'
export {
  aList,
  anObject,
  arrayAt,
  aString,
  describe,
  fieldsBeside,
  hasOnly,
  isObject,
  objectAt,
  readEach,
  readIn,
  stringAt,
  Unexpected,
} from './reading.ts'
export { present, type Present } from './present.ts'
export { optionsOf, type OptionNames } from './options.ts'
export { endOfString, jsonIn, jsonOrText, parseJson, type JsonTextProblem } from './text.ts'
export { maxDepth, NotJson, ownSnapshot, snapshot, withoutPrototypes } from './snapshot.ts'
export { base64Of, base64OfText, bytesOfBase64, joinBytes, textOfBase64, textOfUtf8, utf8Of } from './base64.ts'
