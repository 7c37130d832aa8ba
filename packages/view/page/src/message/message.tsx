/** One message of the timeline, with what is written about it beside it. */
import type { Message, Part } from 'indelible/message'
import type { VNode } from 'preact'
import { Copy } from '../elements/copy.tsx'
import { plainText } from '../data/filter.ts'
import { ErrorBoundary } from '../elements/error-boundary.tsx'
import { JsonTree } from './json-tree.tsx'
import { Markdown } from './markdown.tsx'
import { Media } from './media.tsx'
import { Marks } from './message-notes.tsx'
import { isOpen, toggle } from './folding.ts'
import { isGap } from '../../../src/calls/model-calls.ts'
import type { Entry } from '../data/entry.ts'
import { roleOf, type SessionRecord } from '../data/record.ts'
import { hrefOf } from '../route.ts'
import { Hits } from './search-hits.tsx'
import { clockText, oneLine, sentence, sizeText, timeText } from '../format-text.ts'
import { Call, LoneResult } from './tool.tsx'

/** Instructions are folded where they are longer than this. */
const shortText = 280

interface MessageItemProps {
  readonly record: SessionRecord
  readonly entry: Entry
  /** Whether the same one spoke before: its name is not said again. */
  readonly continued?: boolean
}

export const MessageItem = ({ record, entry, continued = false }: MessageItemProps): VNode => {
  const { message, position, at, appended, isUntold } = entry
  if (isGap(entry.state)) return <Gap record={record} entry={entry} />
  const retracted = record.retractedAt(position)
  return (
    <div
      class={`message ${roleOf(entry)}${retracted === undefined ? '' : ' retracted'}${continued ? ' continued' : ''}`}
    >
      <header>
        <span class="role">
          {message.name === undefined ? roleOf(entry) : `${message.role} · ${oneLine(message.name, 40)}`}
        </span>
        <a
          class="anchor"
          href={hrefOf({ view: 'session', id: record.id, at: position })}
          aria-label={`message ${position}`}
        >
          {position}
        </a>
        {at === undefined ? null : (
          <time
            dateTime={new Date(at).toISOString()}
            title={
              isUntold
                ? `appended ${timeText(at)}; the original time is unknown`
                : appended === undefined || appended === at
                  ? timeText(at)
                  : `${timeText(at)}, appended ${timeText(appended)}`
            }
          >
            {isUntold ? 'appended ' : ''}
            {isUntold && entry.state === 'erased' ? timeText(at) : clockText(at)}
          </time>
        )}
        <Copy text={() => plainText(message).trim()} what={`message ${position}`} />
      </header>
      <div class="content">
        <Content record={record} entry={entry} />
      </div>
      <Marks record={record} entry={entry} />
    </div>
  )
}

/** Messages that can't be shown. */
const Gap = ({ record, entry }: { readonly record: SessionRecord; readonly entry: Entry }): VNode => {
  let end = entry.position + 1
  while (record.entries[end]?.state === entry.state) end++
  const count = end - entry.position
  const which = count === 1 ? `Message ${entry.position} is` : `Messages ${entry.position} to ${end - 1} are`
  return (
    <div class="message">
      <p class="gap content">
        {entry.state === 'left-out'
          ? `${which} not in this file. The proof covers ${count === 1 ? 'its hash' : 'their hashes'}.`
          : `${which} encrypted, and this view has no key: it was destroyed, or not given. The proof covers the stored bytes.`}
      </p>
    </div>
  )
}

const Content = ({ record, entry }: { readonly record: SessionRecord; readonly entry: Entry }): VNode => {
  if (entry.state === 'damaged')
    return (
      <p class="gap bad">
        This {entry.message.role === 'tool' ? 'tool result' : 'message'} is damaged. {sentence(entry.damage ?? '')}
      </p>
    )
  return <MessageContent record={record} message={entry.message} name={`${record.id}/${entry.position}`} joined />
}

interface MessageContentProps {
  readonly record: SessionRecord
  readonly message: Message
  /** The key under which its parts are open. */
  readonly name: string
  /** Whether results are shown with their calls. */
  readonly joined: boolean
}

/** The parts of a message. */
export const MessageContent = ({ record, message, name, joined }: MessageContentProps): VNode =>
  message.content.length === 0 ? (
    <p class="quiet">empty</p>
  ) : (
    <>
      {message.content.map((part, index) =>
        part.type === 'erased' && message.content.findIndex(({ type }) => type === 'erased') < index ? null : (
          <ErrorBoundary key={`${name}.${index}`}>
            <PartOf record={record} role={message.role} part={part} name={`${name}.${index}`} joined={joined} />
          </ErrorBoundary>
        ),
      )}
    </>
  )

interface PartOfProps {
  readonly record: SessionRecord
  readonly role: Message['role']
  readonly part: Part
  readonly name: string
  readonly joined: boolean
}

const PartOf = ({ record, role, part, name, joined }: PartOfProps): VNode | null => {
  switch (part.type) {
    case 'text':
      return <Text role={role} text={part.text} name={name} />
    case 'reasoning': {
      const text = part.text !== '' ? part.text : (part.summary ?? []).join('\n\n')
      return text.trim() === '' ? (
        <p class="quiet reasoning-hidden">
          {part.encrypted === undefined ? 'Reasoning without text' : 'Reasoning, encrypted for its provider'}
        </p>
      ) : (
        <FoldedText name={name} label="Reasoning" text={text} kind="reasoning" />
      )
    }
    case 'refusal':
      return (
        <div class="refusal">
          <Markdown text={part.text} />
        </div>
      )
    case 'tool_call':
      return (
        <Call
          id={record.id}
          part={part}
          name={name}
          result={joined ? record.join.answerTo(part) : 'elsewhere'}
          took={joined ? record.timeOf(part) : undefined}
        />
      )
    case 'tool_result':
      return joined && record.join.isJoined(part) ? null : <LoneResult part={part} name={name} />
    case 'image':
    case 'file':
      return <Media part={part} />
    case 'provider':
      return (
        <div class="raw">
          <p class="quiet">{oneLine(part.provider, 60)}</p>
          <JsonTree value={part.raw} />
        </div>
      )
    default:
      return <UnknownPart part={part} />
  }
}

/** An erased part, or one of a later version. */
const UnknownPart = ({ part }: { readonly part: { readonly type?: unknown } }): VNode =>
  part.type === 'erased' ? (
    <p class="gap">Erased: this message has no content any more. Its place and its hash stay in the record.</p>
  ) : (
    <JsonTree value={part} />
  )

interface TextProps {
  readonly role: Message['role']
  readonly text: string
  readonly name: string
}

const Text = ({ role, text, name }: TextProps): VNode | null => {
  if (text.trim() === '') return null
  const instructs = role === 'system' || role === 'developer' || (role === 'user' && /^\s*<[\w-]+>/.test(text))
  return instructs && text.length > shortText ? (
    <FoldedText name={name} label={role === 'user' ? 'Context' : 'Instructions'} text={text} kind="instructions" />
  ) : (
    <Markdown text={text} />
  )
}

interface FoldedTextProps {
  readonly name: string
  readonly label: string
  readonly text: string
  readonly kind: string
}

/** A long text that few read, as one line that opens. */
const FoldedText = ({ name, label, text, kind }: FoldedTextProps): VNode => {
  const open = isOpen(name)
  return (
    <div class={`folded ${kind}${open ? ' open' : ''}`}>
      <button type="button" class="line-button" aria-expanded={open} onClick={() => toggle(name)}>
        <span class="fold-label">{label}</span>
        <span class="tool-gist">{open ? '' : oneLine(text, 160)}</span>
        {open ? null : <Hits text={() => text} />}
        <span class="tool-answer">{sizeText(text.length)}</span>
      </button>
      {open ? <Markdown text={text} /> : null}
    </div>
  )
}
