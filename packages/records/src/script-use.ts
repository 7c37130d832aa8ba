/** Uses of the call history in Ruby and Python: names, indexes, methods, and the functions and loops around them. */

/** The language of a program. */
type ProgramLanguage = 'javascript' | 'python' | 'ruby'

/** The language that a program looks like. JavaScript, if it has no sign of another one. */
export const languageOf = (code: string): ProgramLanguage => {
  if (/\b(?:const|let|var|function|await|typeof)\b|=>\s*[{(\w]|[=!]==|\/\*|`/.test(withoutTexts(code)))
    return 'javascript'
  if (rubySigns.test(code)) return 'ruby'
  return pythonSigns.test(code) ? 'python' : 'javascript'
}

const withoutTexts = (code: string): string => code.replace(/(["'])(?:\\.|(?!\1)[^\\\n])*\1|(?<!\S)#.*/g, "''")

const rubySigns =
  /\[:\w+\]|\((?:&)?:\w|(?:\{|\bdo) ?\|[^|\n]*\||&:\w|&\.\w|\.\w+[?!](?=[\s)&]|$)|^\s*(?:end|unless|elsif)\b|\|\|=|\bnil\b|#\{/m
const pythonSigns =
  /^\s*(?:async )?(?:for|if|elif|else|while|def|with|try|class)\b.*:\s*(?:#.*)?$|\bfor [\w, ]+ in\b|\blambda\b.*:|\b(?:None|True|False)\b|(?<![\w.])(?:len|sorted|sum|any|all|next|list|enumerate|reversed|filter|map)\(|\.(?:append|get)\(|\[-?\d*:-?\d*\]|^\s*(?:import|from) \w|\b(?:functools|itertools|collections)\.|^[a-z_]\w* = \w+\[(['"])\w+_\w+\1\]$/m

/** Methods with their tags. `+`: returns a list; `=`: the same list; `!`: changes the list. */
const methodTags: { readonly [language in 'python' | 'ruby']: ReadonlyMap<string, string> } = {
  ruby: tableOf(`select:filter+ filter:filter+ reject:filter+ find_all:filter+ filter_map:filter,map+ grep:filter+ partition:group
    map:map+ collect:map+ flat_map:map+ pluck:map+ slice:slice+ take:slice+ drop:slice+ first:find last:last take_while:slice+
    drop_while:slice+ each_slice:slice+ each_cons:slice+ count:count size:count length:count tally:group tally_by:group
    group_by:group chunk_while:group slice_when:group index_by:group find:find detect:find find_index:find index:find include?:find any?:find
    all?:find none?:find one?:find min_by:find max_by:find dig:find fetch:find at:find each:iterate= each_with_index:iterate=
    each_entry:iterate= reverse_each:iterate= each_with_object:reduce sort:sort+ sort_by:sort+ reverse:sort+ sum:reduce reduce:reduce
    inject:reduce uniq:filter+ compact:filter+ to_a:= lazy:= dup:+ push:! append:! concat:! unshift:! prepend:! insert:! pop:last!
    shift:find! clear:! delete_if:filter! delete_at:! reject!:filter! select!:filter! keep_if:filter! map!:map! sort!:sort! sort_by!:sort!
    reverse!:sort! then:= with_index:iterate= each_index:iterate`),
  python:
    tableOf(`append:! extend:! insert:! remove:! clear:! pop:last! sort:sort! reverse:sort! copy:+ count:count index:find
    __len__:count __getitem__:find __iter__:iterate`),
}

/** Python's functions with their tags: of their first argument, or of the last one after a function. */
const functionTags =
  tableOf(`len:count sorted:sort+ reversed:sort+ filter:filter+ map:map+ sum:reduce min:find max:find any:find
  all:find next:find enumerate:iterate+ reduce:reduce groupby:group Counter:group defaultdict:group islice:slice+ list:+ tuple:+
  set:+ iter:iterate+ takewhile:slice+ dropwhile:slice+ filterfalse:filter+ nlargest:sort nsmallest:sort`)

/** A table of names and their tags, from a text of `name:tags`. */
export function tableOf(text: string): ReadonlyMap<string, string> {
  return new Map(
    text
      .trim()
      .split(/\s+/)
      .map((entry) => {
        const at = entry.lastIndexOf(':')
        return [entry.slice(0, at), entry.slice(at + 1)] as const
      }),
  )
}

/** The code without comments and the contents of its texts, but for names of the history. Positions and lines stay. */
const codeOf = (source: string, names: readonly string[], language: ProgramLanguage): string => {
  const blank = (text: string): string => text.replace(/[^\n]/g, ' ')
  const text = String.raw`(["'])(?:\\[^]|(?!\1)[^\\\n])*\1`
  const pattern =
    language === 'ruby'
      ? new RegExp(String.raw`^=begin\b[^]*?^=end\b|#(?!\{).*|${text}`, 'gm')
      : new RegExp(String.raw`"""[^]*?"""|'''[^]*?'''|#.*|${text}`, 'gm')
  return source.replace(pattern, (all) =>
    /^["'](?!""|'')/.test(all)
      ? names.includes(all.slice(1, -1))
        ? all
        : `${all[0]}${all.slice(1, -1).replace(/#\{([^}]*)\}|[^\n]/g, (_, code?: string) => (code === undefined ? '_' : `  ${code} `))}${all.at(-1)}`
      : blank(all),
  )
}

/** A line that uses the history, and the tags of that use. */
export type Use = readonly [line: number, tags: string]

/** The end of the brackets that open at `at`; `at`, if none open there or they never close. */
export const endOfBrackets = (code: string, at: number): number => {
  let depth = 0
  for (let index = at; index < Math.min(code.length, at + 4000); index++) {
    const character = code.charAt(index)
    if ('([{'.includes(character)) depth += 1
    else if (')]}'.includes(character)) depth -= 1
    if (depth === 0) return index === at ? at : index + 1
  }
  return at
}

/** The end of a Ruby block `do … end` at `at`, by its own indentation. */
const endOfDo = (code: string, at: number): number => {
  const indent = /[ \t]*/.exec(code.slice(code.lastIndexOf('\n', at) + 1))?.[0] ?? ''
  const end = new RegExp(`^${indent}end\\b`, 'm').exec(code.slice(at))
  return end === null ? at : at + end.index + end[0].length
}

/** The uses of the history in a program. */
export const usesInScript = (
  source: string,
  names: readonly string[],
  holders: readonly string[],
  language: 'python' | 'ruby',
): readonly Use[] => {
  const code = codeOf(source, names, language)
  const named = escapeNames(names)
  const held = `\\b(?:${escapeNames(holders)})`
  const key = `(?::(?:${named})\\b|(["'])(?:${named})\\1)`
  const direct = `${held}(?:&?\\.(?:fetch|dig|get)\\(${key}[^()]*\\)|\\[${key.replaceAll('\\1', '\\2')}\\]|\\.(?:${named})\\b)|(?<![\\w.:"'@])(?:${named})\\b(?![(:"']| =[^=~])`
  const uses: Use[] = []
  const lineOf = (at: number): number => source.slice(0, at).split('\n').length
  const found = new Set<string>()
  const search = (pattern: string, own: boolean): void => {
    for (const match of code.matchAll(new RegExp(pattern, 'gm')))
      follow(match.index, match.index + match[0].length, own)
  }
  /** Another name of the history, or of a list made of it. */
  const alias = (name: string, own: boolean): void => {
    if (found.has(name) || names.includes(name)) return
    found.add(name)
    search(`(?<![\\w.:"'@])${escapeNames([name])}\\b(?!["'(:]| =[^=~]| \\|\\|=|,? (?:in|=) )`, own)
  }
  const follow = (start: number, from: number, own: boolean): void => {
    const use = (at: number, tags = ''): void => void uses.push([lineOf(at), tags])
    let end = from
    let isList = true
    /** Whether it is the list of the log itself, so that a change of it is a write. */
    let isOwn = own
    use(start)
    const take = (entry: string | undefined, at: number): void => {
      use(at, `${entry?.replace(/[+=!]/g, '') ?? ''}${entry?.includes('!') && isOwn ? ' write' : ''}`)
      isList = entry?.includes('+') === true || entry?.includes('=') === true
      if (entry?.includes('=') !== true) isOwn = false
    }
    if (/^\s*(?:<<(?!~)|(?:\|\||\+)?=(?![=~>]))/.test(code.slice(end, end + 8)) && isOwn) use(start, 'write')
    for (;;) {
      const method = /^\s*(?:&?\.)(\w+[?!]?)/.exec(code.slice(end, end + 200))
      if (method !== null && isList) {
        const name = method[1] as string
        end += method[0].length
        const hasCount = /^\(\s*\d/.test(code.slice(end, end + 9))
        const entry = methodTags[language].get(name)
        take(hasCount && (name === 'first' || name === 'last') ? `slice${name === 'last' ? ',last' : ''}+` : entry, end)
        end = endOfBrackets(code, end)
        const block = /^ ?(?=\{)|^ do\b/.exec(code.slice(end, end + 4))
        if (block !== null) end = block[0] === ' do' ? endOfDo(code, end) : endOfBrackets(code, end + block[0].length)
        continue
      }
      if (code.charAt(end) === '[' && isList) {
        const close = endOfBrackets(code, end)
        const index = code.slice(end + 1, close - 1)
        const changes =
          /^\s*=(?![=~>])/.test(code.slice(close, close + 4)) || /\bdel\s+$/.test(code.slice(0, start).slice(-5))
        const tag = tagOfIndex(index)
        take(`${tag}${tag === 'slice' ? '+' : ''}${changes ? '!' : ''}`, end)
        if (close === end) break
        end = close
        continue
      }
      break
    }
    const line = code.slice(code.lastIndexOf('\n', start) + 1, start)
    if (language === 'ruby') {
      if (/^[ \t]*for [\w, ]+ in $/.test(line)) use(start, 'iterate')
    } else {
      let open = start
      for (let depth = 0; depth < 6; depth++) {
        const loop = /\bfor ([\w, ()]+?) in (?:await )?$/.exec(code.slice(Math.max(0, open - 120), open))
        let bracket = openingBracket(code, loop === null ? open : open - loop[0].length)
        const first = bracket
        if (code.slice(bracket - 1, bracket + 1) === '((') bracket -= 1
        const name =
          code.charAt(bracket) === '(' ? /\w*$/.exec(code.slice(Math.max(0, bracket - 60), bracket))?.[0] : ''
        const entry = functionTags.get(name ?? '')
        if (loop !== null) {
          if (bracket === -1) use(start, 'iterate')
          else {
            comprehension(code.slice(first + 1, open - loop[0].length).trim(), loop[1] as string, entry, end).forEach(
              (tag) => use(start, tag),
            )
            isOwn = false
          }
          break
        }
        if (entry === undefined || !isList) break
        take(entry, start)
        open = bracket - (name?.length ?? 0)
        end = endOfBrackets(code, bracket)
        const index = /^\[([^\]]*)\]/.exec(code.slice(end, end + 60))
        if (index !== null && isList) use(start, tagOfIndex(index[1] as string))
      }
    }
    if (!isList) return
    const assigned =
      /^[ \t]*(@?\w+)(?:: [\w[\], ]+)? (?:\|\|)?= (?:[\w.]*[([])*(?:[^=]* for [\w, ()]+ in (?:\w+\()*)?$/.exec(line)
    if (assigned !== null) alias(assigned[1] as string, isOwn)
  }
  /** The tags of a comprehension over the history in a call of `entry`, if it is in one. */
  const comprehension = (value: string, names: string, entry: string | undefined, end: number): readonly string[] => {
    if (entry === 'count' || (entry === 'reduce' && value === '1')) return ['count']
    const isList = entry === undefined || entry.includes('+')
    const tags = entry === undefined ? [] : [plainTags(entry)]
    if (entry !== 'find' && /^\s*if\b/.test(code.slice(end, end + 20))) tags.push('filter')
    if (isList && value !== names) tags.push('map')
    return tags
  }
  search(direct, true)
  return uses
}

/** The tag of an index or a range. */
const tagOfIndex = (index: string): 'slice' | 'last' | 'find' =>
  /\.\.|^[^"']*:|,/.test(index) ? 'slice' : /^\s*-1\s*$/.test(index) ? 'last' : 'find'

/** The bracket that is open at a position; -1 if none is within 400 characters. */
const openingBracket = (code: string, at: number): number => {
  let depth = 0
  for (let index = at - 1; index >= Math.max(0, at - 400); index--) {
    const character = code.charAt(index)
    if (')]}'.includes(character)) depth += 1
    if (!'([{'.includes(character)) continue
    if (depth === 0) return index
    depth -= 1
  }
  return -1
}

const plainTags = (entry: string | undefined): string => entry?.replace(/[+=!]/g, '') ?? ''

/** A pattern of one of these names. */
export const escapeNames = (names: readonly string[]): string =>
  names.map((name) => name.replace(/\W/g, '\\$&')).join('|')
