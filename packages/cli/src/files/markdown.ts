/** A conversation as Markdown, as one would write it down: what was said, with reasoning, calls and results folded. */
import { isTooDeep, jsonIn } from 'indelible/internal/json'
import { pairCalls, type Message, type Part, type Sequence, type ToolResultPart } from 'indelible/message'
import { groupedNumber } from '../terminal/screen.ts'

/** Each call is followed by its result; a result without a call stands where it came. */
export function* markdownOf(messages: Sequence<Message>, title?: string): Generator<string> {
  const pairs = pairCalls(messages)
  const resultAt = new Map(pairs.map(({ position, part, answer }) => [placeOf(position, part), answer?.result]))
  const answers = new Set(
    pairs.flatMap(({ answer }) => (answer === undefined ? [] : [placeOf(answer.position, answer.part)])),
  )
  if (title !== undefined) yield* [`# ${inLine(title)}`, '']
  let speaker: string | undefined
  let position = 0
  for (const { role, content, name } of messages) {
    const shown = content.flatMap((part, index) =>
      answers.has(placeOf(position, index)) ? [] : [partLines(part, resultAt.get(placeOf(position, index)))],
    )
    position++
    if (shown.length === 0) continue
    const next = name === undefined ? (roleNames[role] ?? role) : `${roleNames[role] ?? role} (${inLine(name)})`
    if (next !== speaker) yield* [`## ${next}`, '']
    speaker = next
    const isFolded = role === 'system' || role === 'developer'
    const lines = shown.flatMap((part) => part.concat(''))
    yield* isFolded ? [...folded('Instructions', unfolding(lines)), ''] : lines
  }
}

const placeOf = (position: number, part: number): string => `${position}.${part}`

const roleNames: { readonly [role: string]: string } = {
  system: 'System',
  developer: 'Developer',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool',
}

const partLines = (part: Part, result: ToolResultPart | undefined): readonly string[] => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.split('\n')
    case 'reasoning': {
      const thought = [part.text, ...(part.summary ?? [])].filter((text) => text !== '').join('\n\n')
      return thought === ''
        ? ['*(reasoning that only the provider can read)*']
        : folded('Reasoning', unfolding(thought.split('\n')))
    }
    case 'tool_call': {
      const fields = jsonIn(part.arguments)
      const args = fields === undefined || isTooDeep(fields) ? part.arguments : JSON.stringify(fields, undefined, 2)
      const end = result === undefined ? ['*(no result)*'] : resultLines(result)
      return folded(`${part.name}(${shortened(part.arguments)})${result?.isError === true ? ': error' : ''}`, [
        ...fenced(args, fields === undefined ? '' : 'json'),
        '',
        ...end,
      ])
    }
    case 'tool_result':
      return folded(`Result${part.name === undefined ? '' : ` of ${part.name}`}`, resultLines(part))
    case 'image':
    case 'file':
      return [attachmentText(part)]
    case 'provider':
      return folded(`${part.provider}: ${typeOf(part.raw)}`, fenced(JSON.stringify(part.raw, undefined, 2), 'json'))
    case 'erased':
      return ['*(erased)*']
  }
}

const resultLines = ({ content }: ToolResultPart): readonly string[] =>
  content.length === 0
    ? ['*(empty result)*']
    : content.flatMap((part) => (part.type === 'text' ? fenced(part.text, '') : partLines(part, undefined)))

const attachmentText = ({ type, source, ...rest }: Extract<Part, { readonly type: 'image' | 'file' }>): string => {
  const name = 'name' in rest && rest.name !== undefined ? `, ${inLine(rest.name)}` : ''
  const kind = 'mediaType' in source && source.mediaType !== undefined ? `, ${inLine(source.mediaType)}` : ''
  if (source.type === 'url' && !/[\s<>]/.test(source.url)) return `*(${type}${name}${kind}: <${source.url}>)*`
  const size = source.type === 'base64' ? `, ${groupedNumber(Math.floor((source.data.length * 3) / 4))} bytes` : ''
  return `*(${type}${name}${kind}${size})*`
}

const typeOf = (raw: unknown): string => {
  const type = (raw as { readonly type?: unknown } | null)?.type
  return typeof type === 'string' ? type : 'part'
}

/** Folded where Markdown is shown: blank lines around the text keep it Markdown. */
const folded = (summary: string, lines: readonly string[]): readonly string[] => [
  '<details>',
  `<summary>${escaped(inLine(summary))}</summary>`,
  '',
  ...lines,
  '',
  '</details>',
]

/** Text that can't end the fold in which it stands. */
const unfolding = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => line.replaceAll(/<(\/?(?:details|summary))/gi, '&lt;$1'))

/** A block of code whose fence is longer than any in it. */
const fenced = (text: string, language: string): readonly string[] => {
  let fence = '```'
  for (const [ticks] of text.matchAll(/`{3,}/g)) if (ticks.length >= fence.length) fence = `${ticks}\``
  return [`${fence}${language}`, ...text.replace(/\n$/, '').split('\n'), fence]
}

const inLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

const shortened = (text: string): string => (text.length > 80 ? `${text.slice(0, 79).toWellFormed()}…` : text)

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
