/** A call with its result, as one line that opens. */
import { isObject } from 'indelible/internal/json'
import type { ResultPart, ToolCallPart, ToolResultPart } from 'indelible/message'
import type { VNode } from 'preact'
import { callGist } from '../../../src/texts/call-gist.ts'
import { Code, languageOf } from './code.tsx'
import { Change, isPatch, Patch } from './diff.tsx'
import { Field } from '../elements/field.tsx'
import type { PlacedResult } from '../data/join.ts'
import { jsonIn, JsonTree } from './json-tree.tsx'
import { Media } from './media.tsx'
import { isOpen, toggle } from './folding.ts'
import { plainText } from '../data/filter.ts'
import { hrefOf } from '../route.ts'
import { Hits } from './search-hits.tsx'
import { subAgents } from '../data/sub-agents.ts'
import { oneLine, spanText, visibleText, sizeText } from '../format-text.ts'

interface CallProps {
  readonly id: string
  readonly part: ToolCallPart
  /** The key under which it is open. */
  readonly name: string
  /** Its result; `elsewhere` where results stand in messages of their own. */
  readonly result: PlacedResult | 'erased' | 'damaged' | 'elsewhere' | undefined
  /** The milliseconds up to its result; undefined if they are not known. */
  readonly took: number | undefined
}

export const Call = ({ id, part, name, result: found, took }: CallProps): VNode => {
  const result = typeof found === 'object' ? found : undefined
  const args = argumentsOf(part)
  const failed = result?.part.isError === true
  const open = isOpen(name)
  const agent = subAgents.value.get(part)
  return (
    <div class={`call${failed ? ' call-failed' : ''}${open ? ' open' : ''}`}>
      <button type="button" class="line-button" aria-expanded={open} onClick={() => toggle(name)}>
        <span class="tool-name">{oneLine(part.name, 60)}</span>
        <span class="tool-gist">{callGist(part.arguments)}</span>
        {open ? null : <Hits text={() => wordsOf(part, result?.part)} />}
        <span class="tool-answer">
          {found === 'elsewhere'
            ? ''
            : typeof found === 'string'
              ? found
              : result === undefined
                ? 'no result'
                : failed
                  ? 'failed'
                  : sizeOf(result.part)}
          {took === undefined ? '' : ` · ${spanText(took)}`}
        </span>
      </button>
      {agent === undefined ? null : (
        <a class="call-agent" href={hrefOf({ view: 'session', id: agent.id })} dir="auto">
          Sub-agent: {oneLine(agent.title, 100)}
        </a>
      )}
      {open ? (
        <div class="call-body">
          <Arguments part={part} args={args} />
          {result === undefined ? null : (
            <>
              <p class="result-head">
                Result
                <a class="anchor" href={hrefOf({ view: 'session', id, at: result.entry.position })}>
                  {result.entry.position}
                </a>
                {failed ? <span class="badge bad">error</span> : null}
              </p>
              <Result part={result.part} />
            </>
          )}
        </div>
      ) : null}
    </div>
  )
}

const wordsOf = (part: ToolCallPart, result: ToolResultPart | undefined): string =>
  plainText({ role: 'assistant', content: [part] }) +
  (result === undefined ? '' : plainText({ role: 'tool', content: [result] }))

/** A result that stands alone: its call is not shown, or stands in another message. */
export const LoneResult = ({ part, name }: { readonly part: ToolResultPart; readonly name: string }): VNode => {
  const open = isOpen(name)
  const [first] = part.content
  return (
    <div class={`call${part.isError === true ? ' call-failed' : ''}${open ? ' open' : ''}`}>
      <button type="button" class="line-button" aria-expanded={open} onClick={() => toggle(name)}>
        <span class="fold-label">Result{part.name === undefined ? '' : ` of ${oneLine(part.name, 40)}`}</span>
        <span class="tool-gist">{first?.type === 'text' ? oneLine(first.text, 160) : ''}</span>
        {open ? null : <Hits text={() => plainText({ role: 'tool', content: [part] })} />}
        <span class="tool-answer">{part.isError === true ? 'failed' : sizeOf(part)}</span>
      </button>
      {open ? (
        <div class="call-body">
          <Result part={part} />
        </div>
      ) : null}
    </div>
  )
}

const Result = ({ part }: { readonly part: ToolResultPart }): VNode => (
  <>
    {part.content.length === 0 ? <p class="quiet">empty</p> : part.content.map((piece) => <ResultPiece part={piece} />)}
  </>
)

const ResultPiece = ({ part }: { readonly part: ResultPart }): VNode => {
  if (part.type === 'text') return <Output text={part.text} />
  if (part.type === 'image' || part.type === 'file') return <Media part={part} />
  return <JsonTree value={part} />
}

/** What a program gave: a diff, JSON, or text. */
const Output = ({ text }: { readonly text: string }): VNode => {
  if (isPatch(text)) return <Patch text={text} />
  const value = jsonIn(text)
  return value === undefined ? <Code text={visibleText(text)} label="output" /> : <JsonTree value={value} />
}

type Arguments = { readonly [name: string]: unknown }

const argumentsOf = (part: ToolCallPart): Arguments | undefined => {
  const value = jsonIn(part.arguments)
  return value === undefined || Array.isArray(value) ? undefined : (value as Arguments)
}

const sizeOf = ({ content }: ToolResultPart): string => {
  const [first] = content
  if (content.length === 1 && first?.type === 'text') {
    const line = oneLine(first.text, 40)
    return line.length < 24 && !first.text.trim().includes('\n') ? line : sizeText(first.text.length)
  }
  return content.map((part) => (part.type === 'text' ? sizeText(part.text.length) : part.type)).join(', ') || 'empty'
}

const Arguments = ({ part, args }: { readonly part: ToolCallPart; readonly args: Arguments | undefined }): VNode => {
  if (args === undefined)
    return isPatch(part.arguments) ? (
      <Patch text={part.arguments} />
    ) : (
      <Code text={visibleText(part.arguments)} label="arguments" />
    )
  const path = textIn(args, 'file_path', 'filePath', 'path', 'file')
  const change = changesIn(args)
  const command = textIn(args, 'command', 'cmd')
  const content = textIn(args, 'content', 'file_text')
  const patch = textIn(args, 'patch', 'input', 'diff')
  const rest = Object.fromEntries(
    Object.entries(args).filter(
      ([, value]) =>
        value !== command &&
        !(change.length > 0 && isChangeValue(value, change)) &&
        (path === undefined || value !== content) &&
        !(patch !== undefined && isPatch(patch) && value === patch),
    ),
  )
  return (
    <>
      {command === undefined ? null : <Code text={visibleText(command)} language="bash" label="command" />}
      {change.map(({ before, after }) => (
        <Change before={before} after={after} />
      ))}
      {patch !== undefined && isPatch(patch) ? <Patch text={patch} /> : null}
      {path !== undefined && content !== undefined ? (
        <Code text={visibleText(content)} language={languageOf(path)} label="content" />
      ) : null}
      {Object.keys(rest).length === 0 ? null : <Fields args={rest} />}
    </>
  )
}

/** Short values as a list of names, the others as trees. */
const Fields = ({ args }: { readonly args: Arguments }): VNode => (
  <dl class="fields">
    {Object.entries(args).map(([name, value]) => (
      <Field name={visibleText(name)}>
        {typeof value === 'string' && value.length < 300 && !value.includes('\n') ? (
          visibleText(value)
        ) : (
          <JsonTree value={value} />
        )}
      </Field>
    ))}
  </dl>
)

const textIn = (args: Arguments, ...names: readonly string[]): string | undefined => {
  for (const name of names) if (typeof args[name] === 'string') return args[name]
  return undefined
}

interface TextChange {
  readonly before: string
  readonly after: string
}

const changesIn = (args: Arguments): readonly TextChange[] => {
  const change = changeIn(args)
  const several = Array.isArray(args['edits']) ? args['edits'] : []
  return [change ?? [], ...several.map((edit: unknown) => (isObject(edit) && changeIn(edit)) || [])].flat()
}

const changeIn = (args: Arguments): TextChange | undefined => {
  const before = textIn(args, 'old_string', 'oldString', 'oldText', 'old_str')
  const after = textIn(args, 'new_string', 'newString', 'newText', 'new_str')
  return before === undefined || after === undefined ? undefined : { before, after }
}

const isChangeValue = (value: unknown, changes: readonly TextChange[]): boolean =>
  Array.isArray(value) || changes.some(({ before, after }) => value === before || value === after)
