/** What a call was sent in two columns: beside the record, or beside what the call before it was sent. */
import { signal, useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { Button } from '../elements/controls.tsx'
import { JsonTree } from '../message/json-tree.tsx'
import { MessageContent } from '../message/message.tsx'
import type { SessionRecord } from '../data/record.ts'
import { hrefOf } from '../route.ts'
import {
  changedParts,
  requestFields,
  type ChangedPart,
  type RequestParts,
  type UnchangedTools,
} from '../../../src/calls/changed-parts.ts'
import { pairsWithCall, pairsWithRecord, comparedTexts, valueText, type Pair } from '../../../src/calls/sent-pairs.ts'
import type { ShownContext } from './sent-context.ts'
import { countText, groupedNumber, oneLine, visibleText } from '../format-text.ts'
import { sidesOf, type Piece } from './text-sides.ts'
import { VirtualFeed } from '../elements/virtual-feed.tsx'

type Beside = 'alone' | 'record' | 'call'

/** The choice is kept when another call of the session is opened. */
const chosen = signal<{ readonly of: string; readonly beside: Beside }>({ of: '', beside: 'alone' })

/** What the messages of a session's calls are compared with. */
export const besideIn = ({ id }: SessionRecord): Beside => (chosen.value.of === id ? chosen.value.beside : 'alone')

const choices: readonly (readonly [Beside, string])[] = [
  ['alone', 'Alone'],
  ['record', 'Beside the record'],
  ['call', 'Beside the previous call'],
]

export const BesideChoice = ({
  record,
  hasBefore,
}: {
  readonly record: SessionRecord
  readonly hasBefore: boolean
}): VNode => (
  <span class="beside-choice" role="group" aria-label="what stands beside it">
    {choices.map(([value, words]) => (
      <Button
        aria-pressed={besideIn(record) === value}
        disabled={value === 'call' && !hasBefore}
        onClick={() => (chosen.value = { of: record.id, beside: value })}
      >
        {words}
      </Button>
    ))}
  </span>
)

interface ColumnsProps {
  readonly record: SessionRecord
  readonly context: ShownContext
  /** What the previous call was sent. Without it, the left column shows the record. */
  readonly before: ShownContext | undefined
  readonly beforeName: string
  readonly len: number
  /** Whether it is what was sent, not what a policy would send. */
  readonly isSent: boolean
}

/** The messages of a call in two columns. */
export const Columns = ({ record, context, before, beforeName, len, isSent }: ColumnsProps): VNode => {
  const sent = isSent ? 'sent' : 'derived'
  const pairs = useMemo(
    (): readonly (Pair | ChangedPart | UnchangedTools)[] =>
      before === undefined
        ? [
            ...changedParts(undefined, systemOf(context)),
            ...pairsWithRecord(context.messages, len, (position) => record.entries[position]?.message.role),
          ]
        : [...changedParts(before.request, context.request), ...pairsWithCall(before.messages, context.messages)],
    [context, before, len],
  )
  const left = before === undefined ? 'record' : isSent ? `sent with ${beforeName}` : `derived for ${beforeName}`
  return (
    <VirtualFeed
      label={`messages that the call was sent, beside ${before === undefined ? 'the record' : `those of ${beforeName}`}`}
      items={pairs}
      estimate={90}
      keyOf={(_, index) => index}
      classOf={(pair) => (pair.type === 'pair' || pair.type === 'part' ? 'pair' : '')}
      render={(pair) =>
        pair.type === 'part' ? (
          <PartRow part={pair} beforeName={before === undefined ? undefined : beforeName} />
        ) : pair.type === 'tools' ? (
          <div class="message">
            <p class="gap content">{countText(pair.count, 'unchanged tool')}</p>
          </div>
        ) : pair.type !== 'pair' ? (
          <RestRow record={record} context={context} pair={pair} sent={sent} />
        ) : (
          <PairRow record={record} context={context} pair={pair} left={left} right={sent} />
        )
      }
    />
  )
}

/** The system text beside the messages, which a record has in the receipt of the call. */
const systemOf = ({ request }: ShownContext): RequestParts => ({ system: request?.system })

interface RestRowProps {
  readonly record: SessionRecord
  readonly context: ShownContext
  readonly pair: Exclude<Pair, { readonly type: 'pair' }>
  readonly sent: string
}

const RestRow = ({ record, context, pair, sent }: RestRowProps): VNode => {
  const open = useSignal(false)
  const count = pair.to - pair.from
  return (
    <div class="message">
      <p class="gap content">
        {pair.type === 'same'
          ? countText(count, 'unchanged message')
          : `${countText(count, 'message')} of the record not ${sent}`}{' '}
        <Button class="more" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
          {open.value ? 'Hide' : 'Show'}
        </Button>
      </p>
      {open.value ? <Rest record={record} context={context} pair={pair} /> : null}
    </div>
  )
}

interface PairRowProps {
  readonly record: SessionRecord
  readonly context: ShownContext
  readonly pair: Extract<Pair, { readonly type: 'pair' }>
  readonly left: string
  /** `sent` or `derived`. */
  readonly right: string
}

const PairRow = ({ record, context, pair, left, right }: PairRowProps): VNode => {
  const sent = pair.right === undefined ? undefined : context.messages[pair.right]?.message
  const range = pair.left !== undefined && 'from' in pair.left ? pair.left : undefined
  const earlier = pair.left !== undefined && 'message' in pair.left ? pair.left.message : undefined
  const old =
    earlier ?? (range !== undefined && range.to - range.from === 1 ? record.entries[range.from]?.message : undefined)
  const isChange = old !== undefined && sent !== undefined && !pair.isSame
  const sides = useMemo(() => {
    if (!isChange) return undefined
    const { before, after } = comparedTexts(old, sent)
    return sidesOf(visibleText(before), visibleText(after))
  }, [isChange, old, sent])
  return (
    <>
      <Cell
        name={left}
        beside={range === undefined ? undefined : <Places id={record.id} from={range.from} to={range.to} />}
      >
        {sides === undefined && old !== undefined ? <p class={`role of-${old.role}`}>{old.role}</p> : null}
        {sides !== undefined ? (
          <PiecesOfText pieces={sides.before} state="went" />
        ) : old !== undefined ? (
          <MessageContent
            record={record}
            message={old}
            name={`left/${record.id}/${range?.from ?? ''}`}
            joined={false}
          />
        ) : range === undefined ? (
          <p class="quiet">{left === 'record' ? 'not in the record' : `not ${right}`}</p>
        ) : (
          <Recorded record={record} from={range.from} to={range.to} />
        )}
      </Cell>
      <Cell name={right}>
        {sides !== undefined ? (
          <PiecesOfText pieces={sides.after} state="came" />
        ) : sent === undefined ? (
          <p class="quiet">no longer {right}</p>
        ) : (
          <div class={sent.role}>
            <p class="role">{sent.role}</p>
            <MessageContent
              record={record}
              message={sent}
              name={`right/${record.id}/${pair.right ?? ''}`}
              joined={false}
            />
          </div>
        )}
      </Cell>
    </>
  )
}

interface CellProps {
  readonly name: string
  readonly beside?: VNode | undefined
  readonly children: ComponentChildren
}

const Cell = ({ name, beside: link, children }: CellProps): VNode => (
  <div class="cell" role="group" aria-label={name}>
    <p class="cell-name">
      {name} {link}
    </p>
    {children}
  </div>
)

/** A link to messages of a session. */
export const Places = ({
  id,
  from,
  to,
}: {
  readonly id: string
  readonly from: number
  readonly to: number
}): VNode => (
  <a class="anchor" href={hrefOf({ view: 'session', id, at: from })}>
    {to - from === 1 ? from : `${from}–${to - 1}`}
  </a>
)

const mostMessagesShown = 20

interface RecordedProps {
  readonly record: SessionRecord
  readonly from: number
  readonly to: number
}

/** Several messages of the record. */
export const Recorded = ({ record, from, to }: RecordedProps): VNode => (
  <div class="recorded">
    {record.entries.slice(from, Math.min(to, from + mostMessagesShown)).map(({ message, position }) => (
      <div>
        <p class="quiet">
          {message.role} <Places id={record.id} from={position} to={position + 1} />
        </p>
        <MessageContent record={record} message={message} name={`recorded/${record.id}/${position}`} joined={false} />
      </div>
    ))}
    {to - from > mostMessagesShown ? (
      <p>
        <a href={hrefOf({ view: 'session', id: record.id, at: from + mostMessagesShown })}>
          {countText(to - from - mostMessagesShown, 'more message')}
        </a>
      </p>
    ) : null}
  </div>
)

interface RestProps {
  readonly record: SessionRecord
  readonly context: ShownContext
  readonly pair: Exclude<Pair, { readonly type: 'pair' }>
}

const Rest = ({ record, context, pair: { type, from, to } }: RestProps): VNode => {
  const most = useSignal(mostMessagesShown)
  const rest = to - from - most.value
  return type === 'unsent' ? (
    <Recorded record={record} from={from} to={to} />
  ) : (
    <div class="recorded">
      {context.messages.slice(from, Math.min(to, from + most.value)).map(({ message }, index) => (
        <div>
          <p class="quiet">{message.role}</p>
          <MessageContent record={record} message={message} name={`same/${record.id}/${from + index}`} joined={false} />
        </div>
      ))}
      {rest > 0 ? (
        <Button class="more" onClick={() => (most.value += 5 * mostMessagesShown)}>
          {countText(rest, 'more message')}
        </Button>
      ) : null}
    </div>
  )
}

/** One of two texts, with the parts that the other lacks marked. */
const PiecesOfText = ({
  pieces,
  state,
}: {
  readonly pieces: readonly Piece[]
  readonly state: 'went' | 'came'
}): VNode => {
  const all = useSignal(false)
  const Mark = state === 'went' ? 'del' : 'ins'
  return (
    <>
      <pre class="sides-text" tabIndex={0} role="group" aria-label={state === 'went' ? 'as it was' : 'as it is'}>
        {pieces.map((piece) =>
          piece.state === 'changed' ? (
            <Mark class={state}>{piece.text}</Mark>
          ) : piece.state === 'left-out' && !all.value ? (
            <span class="quiet"> ⋯ {countText(piece.text.length, 'character')} ⋯ </span>
          ) : (
            piece.text
          ),
        )}
      </pre>
      {pieces.some((piece) => piece.state === 'left-out') ? (
        <Button class="more" onClick={() => (all.value = !all.value)}>
          {all.value ? 'Show less' : 'Show unchanged text'}
        </Button>
      ) : null}
    </>
  )
}

/** The tools, system text and parameters of a request. Those that changed are shown in both columns. */
export const BesideMessages = ({
  request,
  before,
}: {
  readonly request: NonNullable<ShownContext['request']>
  /** What the call before had; undefined where it is not compared. */
  readonly before: ShownContext['request'] | undefined
}): VNode => {
  return (
    <>
      {requestFields.map((name) =>
        // The model is named beside the call.
        name === 'model' || request[name] === undefined ? null : (
          <details class="beside">
            <summary>
              {name}{' '}
              <span class="quiet">
                {before === undefined
                  ? ''
                  : valueText(before[name]) === valueText(request[name])
                    ? 'the same · '
                    : 'changed · '}
                {wordsOf(request[name])}
              </span>
            </summary>
            <JsonTree value={request[name]} />
          </details>
        ),
      )}
    </>
  )
}

/** A part is a definition or instructions, long and alike: the change must be in sight. */
const aroundPart = 30

const PartRow = ({
  part: { name, before, after },
  beforeName,
}: {
  readonly part: ChangedPart
  /** Undefined beside the record. */
  readonly beforeName: string | undefined
}): VNode => {
  const sides = useMemo(
    () =>
      beforeName === undefined
        ? { before: [], after: [{ state: 'same', text: visibleText(after) } as const] }
        : sidesOf(visibleText(before), visibleText(after), aroundPart),
    [before, after, beforeName],
  )
  return (
    <>
      <Cell name={beforeName === undefined ? 'record' : `${name} of ${beforeName}`}>
        {before === '' ? (
          <p class="quiet">{beforeName === undefined ? 'not a message of the record' : 'none'}</p>
        ) : (
          <PiecesOfText pieces={sides.before} state="went" />
        )}
      </Cell>
      <Cell name={name}>
        {after === '' ? <p class="quiet">none</p> : <PiecesOfText pieces={sides.after} state="came" />}
      </Cell>
    </>
  )
}

const wordsOf = (value: unknown): string =>
  typeof value === 'string'
    ? oneLine(value, 80)
    : Array.isArray(value)
      ? groupedNumber(value.length)
      : oneLine(JSON.stringify(value), 80)
