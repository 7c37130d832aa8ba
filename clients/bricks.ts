/** What makes a session one that its own program refuses or shortens: changes to the text of a file that the program wrote. */

type Line = { readonly [name: string]: unknown }

/** A way in which a session breaks. */
export interface Brick {
  readonly in: string
  readonly what: string
  readonly change: (text: string) => string
  /** What a provider has to be sent of what was said. Default: all of it. */
  readonly left?: (said: readonly string[]) => readonly string[]
  /** The program itself continues this one, which shows that the others can be told from it; or it may. */
  readonly isWhole?: true | 'maybe'
}

/** What stands where a call has no result. */
export const standIn = 'No result was recorded for this call.'

const linesIn = (text: string): readonly Line[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))
const textOf = (lines: readonly (Line | string)[]): string =>
  lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
const ofLines =
  (change: (lines: readonly Line[]) => readonly (Line | string)[]) =>
  (text: string): string =>
    textOf(change(linesIn(text)))
const ofEach = (change: (line: Line) => Line): ((text: string) => string) => ofLines((lines) => lines.map(change))
const without =
  (...names: readonly string[]) =>
  (line: Line): Line =>
    Object.fromEntries(Object.entries(line).filter(([name]) => !names.includes(name)))
const has = (line: Line | undefined, text: string): boolean => JSON.stringify(line ?? '').includes(text)
const tornAt = (lines: readonly Line[], at: number): readonly (Line | string)[] =>
  lines.map((line, index) => (index === at ? JSON.stringify(line).slice(0, 60) : line))
const inPayload = (more: Line) =>
  ofLines(([first = {}, ...rest]) => [{ ...first, payload: { ...(first['payload'] as Line), ...more } }, ...rest])

/** Without results: those that are asked for have a text that says so. */
const withoutResult = (said: readonly string[]): readonly string[] => {
  const first = said.findIndex((one) => one.startsWith('result '))
  return said.map((one, index) => (index === first ? one.replace(/^(result \d+) [^]*/, `$1 ${standIn}`) : one))
}

/** A session of Gemini CLI with each result once. */
const once = (text: string): string => textOf(linesIn(text).filter((line) => !isResponse(line)))
const isResponse = (line: Line): boolean => line['type'] === 'user' && has(line, '"functionResponse"')

/** The line with the first result of Claude Code is gone, and the next one follows the one before it. */
const resultGone = ofLines((lines) => {
  const gone = lines.find((line) => line['type'] === 'user' && has(line, '"tool_use_id"'))
  return lines
    .filter((line) => line !== gone)
    .map((line) => (line['parentUuid'] === gone?.['uuid'] ? { ...line, parentUuid: gone?.['parentUuid'] } : line))
})

const isMessageOf = (role: string) => (line: Line) => (line['message'] as Line | undefined)?.['role'] === role

export const bricks: readonly Brick[] = [
  { in: 'claude-code', what: 'whole', change: (text) => text, isWhole: true },
  {
    in: 'claude-code',
    what: 'each parent is null',
    change: ofEach((line) => ('parentUuid' in line ? { ...line, parentUuid: null } : line)),
  },
  { in: 'claude-code', what: 'no parents', change: ofEach(without('parentUuid')) },
  { in: 'claude-code', what: 'no uuid', change: ofEach(without('uuid')) },
  { in: 'claude-code', what: 'a result is missing', change: resultGone, left: withoutResult },
  {
    in: 'claude-code',
    what: 'a call id is used twice',
    change: (text) => {
      const [first = '', second = ''] = new Set(text.match(/toolu_\d+/g))
      return text.replaceAll(second, first)
    },
  },
  { in: 'codex', what: 'whole', change: (text) => text, isWhole: true },
  { in: 'codex', what: 'torn first line', change: ofLines((lines) => tornAt(lines, 0)) },
  { in: 'codex', what: 'no first line', change: ofLines((lines) => lines.slice(1)) },
  {
    in: 'codex',
    what: 'its parent is gone',
    change: inPayload({
      history_base: {
        thread_id: '01a20b8b-0000-7000-8000-000000000000',
        end_ordinal_exclusive: 9,
        end_byte_offset: 9000,
      },
    }),
  },
  { in: 'codex', what: 'of a provider that is gone', change: inPayload({ model_provider: 'gone' }) },
  { in: 'gemini', what: 'whole', change: once, isWhole: true },
  { in: 'gemini', what: 'as it wrote it, with a tool', change: (text) => text },
  {
    in: 'gemini',
    what: 'no results',
    change: (text) =>
      ofEach((line) =>
        Array.isArray(line['toolCalls'])
          ? { ...line, toolCalls: (line['toolCalls'] as readonly Line[]).map(without('result', 'resultDisplay')) }
          : line,
      )(once(text)),
    left: withoutResult,
  },
  {
    in: 'gemini',
    what: 'a result without a call',
    change: (text) => {
      const lines = linesIn(once(text))
      const at = lines.findIndex(({ toolCalls }) => toolCalls !== undefined)
      const functionResponse = { id: 'gone', name: 'read_file', response: { output: 'nothing' } }
      const { timestamp } = lines[at] as Line
      const orphan = { id: 'orphan', timestamp, type: 'user', content: [{ functionResponse }] }
      return textOf([...lines.slice(0, at), orphan, ...lines.slice(at)])
    },
  },
  // Gemini CLI 0.61.0 mostly finds it in spite of that; on a busy machine it once did not.
  { in: 'gemini', what: 'torn header', change: (text) => textOf(tornAt(linesIn(once(text)), 0)), isWhole: 'maybe' },
  { in: 'pi', what: 'whole', change: (text) => text, isWhole: true },
  {
    in: 'pi',
    what: 'a parent that is not there',
    change: ofLines((lines) => {
      const at = lines.findLastIndex(isMessageOf('user'))
      return lines.map((line, index) => (index === at ? { ...line, parentId: 'gone0000' } : line))
    }),
  },
  {
    in: 'pi',
    what: 'torn line in the middle',
    change: ofLines((lines) => tornAt(lines, lines.findIndex(isMessageOf('assistant')))),
    left: (said) => said.filter((_, index) => index !== 1),
  },
  {
    in: 'pi',
    what: 'a result without a call',
    change: ofLines((lines) => {
      const at = lines.findLastIndex(isMessageOf('user'))
      const user = lines[at] as Line
      const message = {
        role: 'toolResult',
        toolCallId: 'gone',
        toolName: 'read',
        content: [{ type: 'text', text: 'nothing' }],
        isError: false,
        timestamp: 0,
      }
      const orphan = { ...user, id: 'orphan00', message }
      return [...lines.slice(0, at), orphan, { ...user, parentId: 'orphan00' }, ...lines.slice(at + 1)]
    }),
  },
  {
    in: 'pi',
    what: 'its folder is gone',
    change: ofLines(([first = {}, ...rest]) => [{ ...first, cwd: '/gone/away' }, ...rest]),
  },
  { in: 'opencode', what: 'whole', change: (text) => text, isWhole: true },
  {
    in: 'opencode',
    what: 'wrong times',
    change: (text) => {
      const session = JSON.parse(text) as { readonly messages: readonly { readonly info: Line }[] }
      const messages = session.messages.map((message, index, all) => {
        const { time } = all[all.length - 1 - index]?.info ?? {}
        const created = (time as Line)['created']
        return { ...message, info: { ...message.info, time: { ...(message.info['time'] as Line), created } } }
      })
      return JSON.stringify({ ...session, messages })
    },
  },
]
