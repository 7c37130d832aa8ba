/** How code can read a history: the tags, and which calls they stand for. */

/** Every pattern, in the order in which they are reported. The tags are stable: logs are compared across versions. */
export const historyPatterns = [
  'filter',
  'map',
  'slice',
  'count',
  'group',
  'find',
  'iterate',
  'sort',
  'reduce',
  'last',
  'write',
] as const

/** A way to use the history: one of `historyPatterns`. */
export type HistoryPattern = (typeof historyPatterns)[number]

/**
 * What a value in the code is: the history itself, or a list made of it, which has the same methods but is the code's
 * own to change.
 */
export type Kind = 'history' | 'derived'

export interface Method {
  readonly patterns: readonly HistoryPattern[]
  /** What it gives: the same kind of value it was called on, or a list made of it. Absent: something else. */
  readonly gives?: 'same' | 'derived'
  /** It changes what it is called on: a write, if that is the history itself. */
  readonly changes?: true
}

const all = (names: string, method: Method): readonly (readonly [string, Method])[] =>
  names.split(' ').map((name) => [name, method] as const)

/** Methods of arrays, of iterators, of this library's histories and views. */
export const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...all('filter', { patterns: ['filter'], gives: 'derived' }),
  ...all('map flatMap', { patterns: ['map'], gives: 'derived' }),
  ...all('slice take drop toSpliced', { patterns: ['slice'], gives: 'derived' }),
  ...all('concat flat with', { patterns: [], gives: 'derived' }),
  ...all('view toArray', { patterns: [], gives: 'same' }),
  ...all('count', { patterns: ['count'] }),
  ...all('group groupBy groupToMap countBy keyBy indexBy partition', { patterns: ['group'] }),
  ...all('find findIndex indexOf lastIndexOf includes some every at', { patterns: ['find'] }),
  ...all('findLast findLastIndex', { patterns: ['find', 'last'] }),
  ...all('forEach', { patterns: ['iterate'] }),
  ...all('entries values keys', { patterns: ['iterate'], gives: 'derived' }),
  ...all('sort reverse', { patterns: ['sort'], gives: 'same', changes: true }),
  ...all('toSorted toReversed', { patterns: ['sort'], gives: 'derived' }),
  ...all('reduce reduceRight', { patterns: ['reduce'] }),
  ...all('pop', { patterns: ['last'], changes: true }),
  ...all('shift', { patterns: ['find'], changes: true }),
  ...all('splice', { patterns: ['slice'], gives: 'derived', changes: true }),
  ...all('push unshift fill copyWithin append', { patterns: [], changes: true }),
])

/** Functions that take a list among their arguments: those of lodash and Ramda, `Object.groupBy`, `Array.from`. */
export const functions: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...methods,
  ...all('sortBy orderBy', { patterns: ['sort'], gives: 'derived' }),
  ...all('reject uniq uniqBy compact', { patterns: ['filter'], gives: 'derived' }),
  ...all('takeRight takeWhile dropRight', { patterns: ['slice'], gives: 'derived' }),
  ...all('pluck', { patterns: ['map'], gives: 'derived' }),
  ...all('last', { patterns: ['last'] }),
  ...all('head first nth', { patterns: ['find'] }),
  ...all('size length', { patterns: ['count'] }),
  ...all('each', { patterns: ['iterate'] }),
  ...all('from structuredClone chain', { patterns: [], gives: 'derived' }),
])

/** The patterns of a call of a method on a value. */
export const patternsOf = (method: Method, on: Kind): readonly HistoryPattern[] =>
  method.changes === true && on === 'history' ? [...method.patterns, 'write'] : method.patterns
