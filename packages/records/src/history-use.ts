/** Detects whether and how generated code reads the call history, by scanning its tokens without a parser. Advisory. */
import { optionsOf } from 'indelible/internal/json'
import { endOfBrackets, escapeNames, languageOf, tableOf, usesInScript, type Use } from './script-use.ts'

const tags = 'filter map slice count group find iterate sort reduce last write'
/** A way to use the history, one of `historyPatterns`. */
export type HistoryPattern =
  | 'filter'
  | 'map'
  | 'slice'
  | 'count'
  | 'group'
  | 'find'
  | 'iterate'
  | 'sort'
  | 'reduce'
  | 'last'
  | 'write'
/** Every pattern, in the order of reports. The tags are stable, so logs can be compared across versions. */
export const historyPatterns: readonly HistoryPattern[] = Object.freeze(tags.split(' ') as HistoryPattern[])
/** The names to look for. */
export interface HistoryUseOptions {
  /** Names of the history as a variable or a property. Default: `conversationHistory`, `conversation_history`. */
  readonly names?: readonly string[]
  /** Names of objects that hold the history. `JSON.stringify` of one uses the history. Default: `context`. */
  readonly holders?: readonly string[]
  /** The language of the code. Default: the one that it looks like. */
  readonly language?: 'javascript' | 'python' | 'ruby'
}
/** How code uses the history. */
export interface HistoryUse {
  /** Whether it uses the history at all. */
  readonly detected: boolean
  /** The patterns of use, each once, in the order of `historyPatterns`. Empty if it is only read or passed on. */
  readonly patterns: readonly HistoryPattern[]
  /** The lines that use it, at most 50. */
  readonly evidence: readonly HistoryEvidence[]
}
/** A line that uses the history. */
interface HistoryEvidence {
  /** The line, from 1. */
  readonly line: number
  /** How the line uses the history. Empty if it only reads it. */
  readonly patterns: readonly HistoryPattern[]
  /** The line, trimmed, at most 160 characters of it. */
  readonly text: string
}

/** Methods and functions with their tags: `+` returns a new list, `=` the same list, `!` changes the list. */
const methods =
  tableOf(`filter:filter+ map:map+ flatMap:map+ slice:slice+ concat:+ flat:+ view:= toArray:= catch:= value:= [:find count:count
  length:count size:count groupBy:group countBy:group keyBy:group find:find findIndex:find indexOf:find includes:find
  some:find every:find at:find findLast:find,last findLastIndex:find,last forEach:iterate entries:iterate+ sortBy:sort+
  values:iterate+ keys:iterate+ sort:sort=! reverse:sort=! toSorted:sort+ toReversed:sort+ orderBy:sort+ reduce:reduce
  reduceRight:reduce pop:last! shift:find! splice:slice! push:! unshift:! fill:!`)
const noCode = // comments of JavaScript, Python, HTML, SQL and Lisp; then texts
  /\/\*[^]*?(?:\*\/|$(?![^]))|\/\/.*|("""|''')[^]*?(?:\1|$(?![^]))|<!--[^]*?(?:-->|$(?![^]))|(?<!\S)#(?![\w$]).*|(?<!\S)--(?=\s).*|^[ \t]*;+[ \t].*|(["'])((?:\\[^]|(?!\2)[^\\\n])*)\2?|`(?:\\[^]|[^\\`])*`?/gm
/** The code without comments and string contents, except strings that are a name of the history. Line breaks stay. */
const codeOf = (source: string, names: readonly string[]): string =>
  source.replace(/(["'])(\w+)\1 \+ (["'])(\w+)\3/g, "'$2$4'").replace(noCode, (all, _, __, text: string) => {
    const kept = all.match(all.startsWith('`') ? /\$\{[^}]*\}|\n/g : /\n/g) ?? []
    return names.includes(text) ? `'${text}'` : `${/^["'`](?!""|'')/.test(all) ? "''" : ''}${kept.join(' ')}`
  })
const wrappers =
  /(?:await |(?<![\w$\])])\(|\[\.\.\.|(?:new Set|Promise\.resolve|Object\.freeze|Array\.from|structuredClone)\()*$/
/** The ways a line names a value: as the result of a function, a variable, or a property. */
const namingPatterns: readonly (readonly [as: string, RegExp])[] = [
  ['result', /([\w$]+) = (?:async )?\([^()]*\) => $/],
  ['variable', /(?:const|let|var) \[?([\w$]+)(?:, [^\]]*\])?(?:: [^=]+)? = (?:(?:await Promise\.all\()?\[)?$/],
  ['property', /(?:(?:\.|^\s*)#?([\w$]+) = |[{,]\s*([\w$]+): )$/],
]
/** The uses of the history. Searches for each of its names, which yields further names. */
const usesIn = (code: string, names: string, holders: string): readonly Use[] => {
  const uses: Use[] = []
  const breaks = [...code.matchAll(/\n/g)].map(({ index }) => index)
  const use = (at: number, tags = ''): void => void uses.push([breaks.findLastIndex((end) => end < at) + 2, tags])
  const all = (pattern: string): RegExpExecArray[] => [...code.matchAll(new RegExp(pattern, 'gm'))]
  const idsIn = (pattern: string): string[] => all(pattern).map(([, first, second]) => first ?? second ?? '')
  const seek = new Map<string, string>()
  const name = (found: string, as: string, kind: string): void => {
    const id = escapeNames([found])
    if (as === 'result') seek.set(String.raw`(?<![\w$]|function\*? )${id}(?=\([^()]*\)(?! (?:=>|\{)))`, kind)
    const isShadowed = all(String.raw`(?:const|let|var) ${id}\b`).length > 1
    if (as === 'variable' && !isShadowed) seek.set(String.raw`(?<![\w$.'#])${id}(?![\w$'(:]| =[^=]| =>)`, kind)
    if (as !== 'property') return
    seek.set(String.raw`\.#?${id}(?![\w$(]| = )`, kind)
    const taken = String.raw`\{[^{}]*?(?:\b${id}: ([\w$]+)|\b(${id})\b)[^{}:]*\}(?: = |\) (?:=>|\{))`
    for (const variable of idsIn(taken)) name(variable, 'variable', kind)
  }
  const keys = `'(?:${names})'|[\\w$.]*\\b(?:${escapeNames(idsIn(String.raw`\b([\w$]+)(?: = |: )[^\n=,;]*'(?:${names})'`)) || '$^'})`
  const own = String.raw`[(,]\s*(?:${names})\s*(?:[,=][^()]*)?\)\s*(?:=>|\{)|(?:^|[\s(])(?:${names}) =>|(?:function|(?<!declare )const|let|var) (?:${names})\b(?! = [^;}\n]*(?:${holders}|${names}))|[{,]\s*(?:${names})\s*[:(](?![^{}]*\} = (?:${holders}))|^[ \t]*(?:${names}) = `
  const whole = String.raw`(?:stringify|entries|values)\((?:${holders})[,)]|assign\((?:${holders}), \{ (?:${names}):|Reflect.set\((?:${holders}), (?:${keys})`
  for (const { index, 0: found } of all(whole)) use(index, /^[aR]/.test(found) ? 'write' : '')
  const held = String.raw`\b(?:${holders})[)!]*\??\.(?:${names})(?![\w$])|[\w$]\[(?:${keys})\]|\b[\w$]+(?=\((?:${holders}), (?:${keys}))`
  seek.set(all(own).length > 0 ? held : String.raw`${held}|(?<![\w$'/])(?:${names})(?![\w$'(:])`, '=')
  for (const id of idsIn(String.raw`\{[^{}]*?\b(?:${names}): ([\w$]+)[^{}]*\} = (?:${holders})\b`))
    name(id, 'variable', '=')
  for (const [pattern, source] of seek)
    for (const { 0: found, index } of all(pattern)) {
      const line = code.slice(Math.max(code.lastIndexOf('\n', index) + 1, index - 200), index)
      const around = line.replace(/(?:[\w$]+(?:\(\))?[?!]?\.)*[\w$]*$/, '')
      const lead = around.replace(wrappers, '')
      let open = around.slice(lead.length).match(/[([]/g)?.length ?? 0
      let kind = /\[|Set|from|Clone/.test(around.slice(lead.length)) ? '+' : source
      let end = index + found.length
      use(index, kind === '=' && /^(?:\.length)? (?:\?\?|\|\|)?= /.test(code.slice(end, end + 12)) ? 'write' : '')
      if (code.charAt(end) === '(') end = endOfBrackets(code, end)
      while (kind !== '') {
        const [step = '', id = '['] =
          /^(?:\s*!?\??\.\s*([\w$]+)|(?:\?\.)?\[|(?: as [\w[\]]+)?[)\]])/.exec(code.slice(end, end + 99)) ?? []
        const closes = /[)\]]$/.test(step)
        if (step === '' || (closes && open-- <= 0)) break
        end += step.length
        if (closes) continue
        const rest = code.slice(end, end + 99)
        const entry = /^(?:at\(-|\[[^\]]* - 1\])/.test(id + rest) ? 'last' : methods.get(id)
        if (id !== 'length' || !rest.startsWith(' = '))
          use(end - 1, entry?.includes('!') && kind === '=' ? `${entry} write` : entry)
        kind = entry?.includes('+') ? '+' : entry?.includes('=') ? kind : ''
        if (rest.startsWith('(')) end = endOfBrackets(code, end)
      }
      if (/(?:for (?:await )?\(.*\b(?:of|in)|yield\*) $/.test(lead)) use(index, 'iterate')
      use(index, methods.get(/(?:Object|Map|_|prototype)\.(\w+)(?:\.call)?\($/.exec(lead)?.[1] ?? '?'))
      if (kind === '' || !/^\s*(?:[;,)}\]\n]|\?\?|\|\||as |satisfies |$)/.test(code.slice(end, end + 9))) continue
      for (const [as, naming] of namingPatterns)
        for (const id of naming.exec(lead)?.slice(1) ?? []) if (id) name(id, as, kind)
    }
  return uses
}

/** Throws a TypeError if an option is unknown. */
export const useOptionsOf = (call: string, options: HistoryUseOptions): HistoryUseOptions =>
  optionsOf(call, options, { names: true, holders: true, language: true })

/**
 * Find the uses of the call history in JavaScript, TypeScript, Ruby or Python. Advisory: it follows the history
 * through plain assignments and fields, and prefers a missed use to a false report. No code makes it throw.
 * Cost    one pass over the code for each name of the history (bench: records)
 * @example
 * detectHistoryUse('return context.conversationHistory.filter((r) => r.outcomeSummary.ok).length').patterns
 * // => ['filter', 'count']
 */
export const detectHistoryUse = (code: string, options: HistoryUseOptions = {}): HistoryUse => {
  const {
    names = ['conversationHistory', 'conversation_history'],
    holders = ['context'],
    language = languageOf(code),
  } = useOptionsOf('detectHistoryUse', options)
  const uses =
    language === 'javascript'
      ? usesIn(codeOf(code, names), escapeNames(names), escapeNames(holders))
      : usesInScript(code, names, holders, language)
  const patternsIn = (some: readonly Use[]): readonly HistoryPattern[] =>
    Object.freeze(historyPatterns.filter((pattern) => some.some(([, tags]) => tags.split(/\W/).includes(pattern))))
  const lines = code.split('\n').map((text) => text.trim().slice(0, 160).toWellFormed())
  const evidence = [...Map.groupBy(uses, ([line]) => line)]
    .toSorted(([a], [b]) => a - b)
    .map(([line, on]) => Object.freeze({ line, patterns: patternsIn(on), text: lines[line - 1] ?? '' }))
    .slice(0, 50)
  return Object.freeze({ detected: uses.length > 0, patterns: patternsIn(uses), evidence: Object.freeze(evidence) })
}
