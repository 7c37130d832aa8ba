/** Reading a foreign value field by field, as the codecs do. */
export { aList, anObject, arrayAt, aString, describe, fieldsBeside, isObject, objectAt, readEach, readIn, stringAt, Unexpected } from '../json/index.ts'
