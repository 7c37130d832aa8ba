/** What the model saw: the context of each call beside the record, as it was sent or as a policy would have sent it. */
import { useSignal } from '@preact/signals'
import { residencyLevels } from 'indelible/pages'
import { estimateTokens, pricesOf, type ContextSource } from 'indelible/context'
import { defaultPrices } from 'indelible/internal/prices'
import { levelReasons } from '../../../src/texts/level-reason.ts'

import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useLayoutEffect, useMemo } from 'preact/hooks'
import { Button, Choice, Numbers } from '../elements/controls.tsx'
import { besideIn, BesideChoice, BesideMessages, Columns, Places, Recorded } from './message-columns.tsx'
import { CallBars } from '../session/call-bars.tsx'
import { isFirstOwn, sumsOf } from '../../../src/calls/call-figures.ts'
import { figuresIn } from '../data/call-figures.ts'
import { callsOf, countedIn, keyOf, placeOf, type ModelCall } from '../../../src/calls/model-calls.ts'
import { dollarsSoFar, pricedModels, type PricedModel } from './compare.ts'
import type { Series } from '../../../src/calls/derive-contexts.ts'
import { policies } from '../../../src/calls/policies.ts'
import { Facts, Legend } from '../elements/field.tsx'
import { ErrorBoundary } from '../elements/error-boundary.tsx'
import { useKeyActions } from '../elements/key-actions.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { Link } from '../message/markdown.tsx'
import { MessageContent } from '../message/message.tsx'
import { SourceContext } from '../message/media.tsx'
import { lineClass, Plot } from './plot.tsx'
import { lossOf, type SessionRecord } from '../data/record.ts'
import { hrefOf, replaceRoute, route, type Route } from '../route.ts'
import { derivedContext, sentContext, type ShownContext } from './sent-context.ts'
import { recordedRange, type ContextMessage } from '../../../src/calls/sent-pairs.ts'
import { SessionHead } from '../session/session.tsx'
import {
  compactNumber,
  countText,
  dollarsText,
  groupedNumber,
  oneLine,
  sentence,
  share,
  visibleText,
} from '../format-text.ts'
import { Strip } from './strip.tsx'
import { VirtualFeed } from '../elements/virtual-feed.tsx'
import { workerOf } from './worker-client.ts'

const budgets = [2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 200, 256, 400, 512, 1000].map(
  (thousands) => thousands * 1000,
)
/** The context that the call was sent, among the policies. */
const sentPolicy = 'as sent'
const defaultBudget = budgets.indexOf(32_000)
/** Of an imported call: enough for all that its file counts, whose tokens are estimated here. */
const budgetFor = (input: number | undefined): number => {
  if (input === undefined) return defaultBudget
  const enough = budgets.findIndex((tokens) => tokens >= Math.max(32_000, input * 1.5))
  return enough === -1 ? budgets.length - 1 : enough
}
/** The most calls compared automatically. */
const mostComparedUnasked = 1500

export const ContextView = ({ record, named }: { readonly record: SessionRecord; readonly named: Named }): VNode => {
  const version = record.version.value
  const whole = record.whole.value
  const calls = useMemo(() => callsOf(record), [record, version])
  const index = whole ? indexOfCall(record, calls, named) : -1
  const call = calls[index]
  // The address names the call from now on, so that what is appended opens no other; at once, so that no later address is lost.
  useLayoutEffect(() => {
    if (call !== undefined && named.call !== index + 1) showCall(record, index)
  })
  return (
    <SourceContext.Provider value={record.source}>
      <SessionHead
        record={record}
        here={{ ...named, view: 'saw', id: record.id }}
        at={call?.isAnswered ? call.answer : undefined}
      />
      {call !== undefined ? (
        <ErrorBoundary name="What the model saw">
          <OneCall record={record} calls={calls} index={index} />
        </ErrorBoundary>
      ) : (
        <main class="nothing">{noContextReason(record)}</main>
      )}
    </SourceContext.Provider>
  )
}

const noContextReason = (record: SessionRecord): string =>
  record.failed.value
    ? 'Part of the record could not be read.'
    : !record.whole.value
      ? 'Reading the record…'
      : record.entries.some(({ state }) => state === 'encrypted')
        ? 'The record is encrypted, and this view has no key for it.'
        : 'The record has no model calls.'

/** What an address names: a call by its number, a receipt by its index among the notes, or any message. */
type Named = Pick<Extract<Route, { readonly view: 'saw' }>, 'call' | 'note' | 'message'>

/** The call that is named; the one that answered a message that is, or came after it; without either, the one that cost most. */
const indexOfCall = (record: SessionRecord, calls: readonly ModelCall[], { call, note, message }: Named): number => {
  if (call !== undefined) return Math.min(calls.length, Math.max(1, call)) - 1
  const key = note ?? (message === undefined ? sumsOf(figuresIn(record).figures).dearest?.key : undefined)
  const found = calls.findIndex((call) =>
    key === undefined ? call.isAnswered && call.answer >= (message ?? Infinity) : keyOf(call) === key,
  )
  return found === -1 ? calls.length - 1 : found
}

const showCall = (record: SessionRecord, index: number): void =>
  replaceRoute({ view: 'saw', id: record.id, call: index + 1 })

interface OneCallProps {
  readonly record: SessionRecord
  readonly calls: readonly ModelCall[]
  readonly index: number
}

const OneCall = ({ record, calls, index }: OneCallProps): VNode => {
  const call = calls[index] as ModelCall
  const before = calls[index - 1]
  const policy = useSignal<string>(call.receipt === undefined ? 'paged' : sentPolicy)
  const budget = useSignal(budgetFor(countedIn(record, call)?.usage.input))
  const chosen = useSignal<number | undefined>(undefined)
  const tokens = budgets[budget.value] as number
  const own = policy.value === sentPolicy ? undefined : policy.value
  const contextAt = (at: number): Promise<ShownContext | string | undefined> => {
    const [wanted, earlier] = [calls[at] as ModelCall, calls[at - 1]]
    return own === undefined
      ? sentContext(record, wanted, earlier)
      : derivedContext(record, wanted, earlier, own, tokens)
  }
  const { join } = record // another one once rows are found to be damaged, whose text no context may show
  const key = `${keyOf(call)} ${own === undefined ? '' : `${own} ${tokens}`}`
  const { value: found, fault } = useLoaded(async () => ({ context: await contextAt(index) }), [key, join])
  const forkedFrom = isFirstOwn(record, call.receipt, before?.receipt) ? record.info.value.forkedFrom?.id : undefined
  const isCompared = besideIn(record) === 'call' && before !== undefined
  const { value: earlier } = useLoaded(
    async () => (isCompared ? { context: await contextAt(index - 1) } : undefined),
    [key, isCompared, join],
  )
  const isFound = found !== undefined
  const epoch = useLoaded(
    async (gone) => {
      if (own === undefined || !isFound) return undefined
      const places = calls.slice(0, index + 1).map((call) => placeOf(record, call))
      return workerOf(record).epoch(call.len, { calls: places, policy: own, budget: tokens }, gone)
    },
    [key, isFound],
  )
  const context = found?.context
  const goToCall = (next: number): void => {
    if (calls.length > 0) showCall(record, Math.min(calls.length - 1, Math.max(0, next)))
  }
  const currentIndex = (): number => (route.value.view === 'saw' ? indexOfCall(record, calls, route.value) : index)
  useKeyActions({
    j: () => goToCall(currentIndex() + 1),
    k: () => goToCall(currentIndex() - 1),
    g: () => goToCall(0),
    G: () => goToCall(calls.length - 1),
  })
  const step = (label: string, sign: string, to: number): VNode => (
    <Button aria-label={label} disabled={calls[to] === undefined} onClick={() => goToCall(to)}>
      {sign}
    </Button>
  )
  const comparison = (
    <ErrorBoundary key={`${record.id} ${tokens}`} name="The comparison of policies">
      <Comparison record={record} calls={calls} budget={tokens} index={index} />
    </ErrorBoundary>
  )
  const { model: named } = call.receipt?.note ?? countedIn(record, call) ?? {}
  const model = named === undefined ? '' : ` (${oneLine(named, 40)})`
  return (
    <main class="saw">
      <ErrorBoundary name="The calls at a glance">
        <CallBars record={record} here={keyOf(call)} />
      </ErrorBoundary>
      <section class="controls" aria-label="which call, and how its context is derived">
        <label>
          Call
          <span class="stepper call-stepper">
            {step('previous call', '‹', index - 1)}
            <input
              type="range"
              class="call-range"
              aria-label="call"
              min={0}
              max={calls.length - 1}
              value={index}
              onInput={(event) => goToCall(Number(event.currentTarget.value))}
            />
            {step('next call', '›', index + 1)}
            <output>
              {groupedNumber(index + 1)} of {groupedNumber(calls.length)}
            </output>
          </span>
        </label>
        <label>
          Context
          <Choice
            label="context"
            choices={[...((call.receipt && [sentPolicy]) ?? []), ...policies.map(({ name }) => name)].map((name) => [
              name,
              name,
            ])}
            value={policy}
          />
        </label>
        {own === undefined ? null : (
          <label>
            Budget
            <span class="stepper">
              <input
                type="range"
                aria-label="budget"
                min={0}
                max={budgets.length - 1}
                value={budget.value}
                onInput={(event) => (budget.value = Number(event.currentTarget.value))}
              />
              <output>{compactNumber(tokens)} tokens</output>
            </span>
          </label>
        )}
        <BesideChoice record={record} hasBefore={before !== undefined} />
        {call.receipt === undefined ? (
          <p class="answered">The messages of this call were not recorded: this is what {policy.value} would send.</p>
        ) : null}
        <p class="answered">
          {call.isAnswered ? (
            <>
              answered by{' '}
              <a href={hrefOf({ view: 'session', id: record.id, at: call.answer })}>message {call.answer}</a>
              <span class="answered-model">{model}</span>
            </>
          ) : (
            `no answer was recorded${model}`
          )}
        </p>
      </section>
      {context === undefined ? (
        <>
          <p class="nothing" role={fault === undefined ? 'status' : 'alert'}>
            {fault !== undefined
              ? sentence(fault)
              : !isFound
                ? own === undefined
                  ? 'Reading what was sent…'
                  : 'Deriving the context…'
                : 'The messages of this call were not recorded, and can’t be derived again from its receipt. Choose a policy to see what it would send.'}
          </p>
          {isFound ? <section class="overview">{comparison}</section> : null}
        </>
      ) : typeof context === 'string' ? (
        <p class="nothing bad" role="alert">
          {context}
        </p>
      ) : (
        <ShownMessages
          record={record}
          call={call}
          context={context}
          earlier={typeof earlier?.context === 'object' ? earlier.context : undefined}
          epochFrom={epoch.value}
          policy={own}
          beforeName={forkedFrom === undefined ? 'the previous call' : 'the last shared call'}
          chosen={chosen.value}
          choose={(at) => (chosen.value = at)}
        >
          {isCompared && forkedFrom !== undefined ? (
            <p class="chosen" role="status">
              This is the first call of a fork. It is beside call {groupedNumber(index)}, the last that the fork shares
              with <a href={hrefOf({ view: 'session', id: forkedFrom })}>{oneLine(forkedFrom, 60)}</a>. The call before
              may be another one of that session.
            </p>
          ) : null}
          {earlier !== undefined && typeof earlier.context !== 'object' ? (
            <p class="chosen" role="status">
              The messages of the previous call are not known.
            </p>
          ) : null}
          {comparison}
        </ShownMessages>
      )}
    </main>
  )
}

interface ShownMessagesProps {
  readonly record: SessionRecord
  readonly call: ModelCall
  readonly context: ShownContext
  /** What the call before was sent, where it is compared. */
  readonly earlier: ShownContext | undefined
  /** How many messages the record had when the epoch began. */
  readonly epochFrom: number | undefined
  /** Undefined: it was sent. */
  readonly policy: string | undefined
  /** What `earlier` is called. */
  readonly beforeName: string
  readonly chosen: number | undefined
  readonly choose: (position: number | undefined) => void
  readonly children: ComponentChildren
}

const ShownMessages = ({
  record,
  call,
  context,
  earlier,
  epochFrom,
  policy,
  beforeName,
  chosen,
  choose,
  children,
}: ShownMessagesProps): VNode => {
  const { derived, messages, prefix } = context
  const { value: { tokens, cached } = { tokens: undefined, cached: 0 } } = useLoaded(() => context.sums(), [context])
  const { value: ends } = useLoaded(() => workerOf(record).ask('ends', call.len, {}), [record, call.len])
  const cost = tokens === undefined ? 0 : cached * defaultPrices.cached + (tokens - cached) * defaultPrices.fresh
  const cachedTo = prefixEnd(messages.slice(0, prefix))
  const version = record.version.value
  const lossAt = (position: number): 'erased' | 'damaged' | undefined =>
    context.levelOf(position) === 'pointer' ? undefined : lossOf(record.entries[position])
  const levels = useMemo(
    () => new Set(Array.from({ length: call.len }, (_, position) => lossAt(position) ?? context.levelOf(position))),
    [context, call.len, version],
  )
  const levelReasonOf = useMemo(
    () =>
      levelReasons({
        activeFrom: derived?.activeFrom ?? 0,
        sources: messages.flatMap(({ source }) => (source.type === 'foreign' ? [] : source)),
        residency: { at: context.levelOf },
      }),
    [context],
  )
  const lost = messages.flatMap(({ source }) => (source.type === 'clone' ? (lossAt(source.position) ?? []) : []))
  const { usage } = call.receipt?.note ?? {}
  const reason = (position: number): string => {
    const entry = record.entries[position]
    if (entry === undefined || position >= call.len) return 'not recorded yet'
    if (record.retractedAt(position) !== undefined && context.levelOf(position) === 'pointer') return 'retracted'
    const loss = lossAt(position)
    if (loss !== undefined) return `${derived === undefined ? 'sent; ' : ''}${lossWords[loss]}`
    if (derived === undefined) return context.levelOf(position) === 'full' ? 'sent as recorded' : 'not sent'
    return levelReasonOf(position, record.pageOf(entry))
  }
  const chosenFacts = (position: number): string => {
    const entry = position < call.len ? record.entries[position] : undefined
    const facts = [
      entry === undefined ? [] : record.pageOf(entry),
      entry === undefined || derived === undefined ? [] : (lossAt(position) ?? context.levelOf(position)),
      reason(position),
    ]
    return ['', ...facts.flat()].join(' · ')
  }
  return (
    <>
      <section class={`overview${earlier === undefined ? '' : ' comparing'}`} aria-label="the context">
        <dl class="figures">
          <Figure
            name="message tokens"
            value={tokens === undefined ? '…' : compactNumber(tokens)}
            of={policy === undefined || derived === undefined ? 'by estimate' : `of ${compactNumber(derived.budget)}`}
          />
          <Figure name="messages" value={groupedNumber(messages.length)} of={madeOf(messages, call.len)} />
          <Figure
            name="cacheable"
            value={tokens === undefined ? '…' : share(cached, tokens)}
            of={`of these${prefix === 0 ? '' : `: first ${countText(prefix, 'message')} unchanged`}`}
          />
          {policy !== undefined || usage?.cacheRead === undefined ? null : (
            <Figure
              name="cached"
              value={share(usage.cacheRead, usage.input)}
              of="of all input, by the provider’s count"
            />
          )}
          {policy === undefined && usage !== undefined ? null : (
            <Figure
              name="cost"
              value={tokens === undefined ? '…' : `≈ ${compactNumber(Math.round(derived?.cost ?? cost))}`}
              of="in uncached input tokens"
            />
          )}
          {derived === undefined ? null : <Figure name="compactions" value={groupedNumber(derived.epoch)} />}
          {policy !== undefined || derived === undefined ? null : (
            <Figure name="derived again" value="exact" of="by the receipt’s digest" />
          )}
        </dl>
        <ErrorBoundary name="The strip of messages">
          <Strip
            total={record.entries.length}
            len={call.len}
            ends={ends}
            levelOf={(position) => (lossAt(position) === undefined ? context.levelOf(position) : 'pointer')}
            cachedTo={cachedTo}
            activeFrom={derived?.activeFrom}
            epochFrom={epochFrom}
            chosen={chosen}
            choose={choose}
            label={`how much of each of ${call.len} messages the call was sent; the list below has the same information`}
          />
        </ErrorBoundary>
        <Legend
          marks={[
            ...residencyLevels
              .filter((level) => levels.has(level))
              .map(
                (level) =>
                  [
                    <i class="level" style={{ background: `var(--level-${level})` }} />,
                    derived === undefined && level === 'pointer' ? 'not sent' : level,
                  ] as const,
              ),
            ...(['erased', 'damaged'] as const)
              .filter((loss) => levels.has(loss))
              .map((loss) => [<i class="level" style={{ background: 'var(--level-pointer)' }} />, loss] as const),
            ...(call.len < record.entries.length ? [[<i class="level later" />, 'after this call'] as const] : []),
            ...(prefix === 0 ? [] : [[<i class="level cached" />, 'cacheable'] as const]),
            ...(epochFrom === undefined ? [] : [[<i class="level epoch" />, 'last compaction'] as const]),
            ...(derived === undefined ? [] : [[<i class="level active" />, 'active turn'] as const]),
          ]}
        />
        {chosen === undefined ? null : (
          <p class="chosen" role="status">
            <a href={hrefOf({ view: 'session', id: record.id, at: chosen })}>Message {chosen}</a>
            <Facts text={chosenFacts(chosen)} />
          </p>
        )}
        {lost.length === 0 ? null : (
          <p class="chosen">
            {countText(lost.length, 'message')} of this context {lost.length === 1 ? 'is' : 'are'}{' '}
            {[...new Set(lost)].join(' or ')}: the figures above do not count the recorded text.
          </p>
        )}
        {context.broke === undefined ? null : <p class="chosen">Cache break: {visibleText(context.broke)}.</p>}
        {context.request === undefined ? null : <BesideMessages request={context.request} before={earlier?.request} />}
        {children}
      </section>
      {besideIn(record) === 'record' || earlier !== undefined ? (
        <Columns
          record={record}
          context={context}
          before={earlier}
          beforeName={beforeName}
          len={call.len}
          isSent={policy === undefined}
        />
      ) : (
        <VirtualFeed
          label="messages that the call was sent"
          items={messages}
          estimate={90}
          keyOf={(_, index) => index}
          classOf={(_, index) => (index === prefix && prefix > 0 ? 'prefix-end' : '')}
          render={(saw, index) => (
            <SentMessages
              record={record}
              saw={saw}
              index={index}
              tokens={estimateTokens(saw.message)}
              cached={index < prefix}
              reason={(position) =>
                saw.source.type === 'clone' && derived === undefined ? undefined : reason(position)
              }
            />
          )}
        />
      )}
    </>
  )
}

/** The messages of a context, counted as the record counts them. */
const madeOf = (messages: readonly ContextMessage[], len: number): string => {
  const count = (is: (source: ContextMessage['source']) => boolean): number =>
    messages.reduce((sum, { source }) => sum + (is(source) ? 1 : 0), 0)
  const markers = count((source) => source.type === 'representation' && source.level === 'pointer')
  const recorded = count(({ type }) => type === 'clone' || type === 'representation') - markers
  const others = [
    [markers, 'marker for messages left out', 'markers for messages left out'],
    [count(({ type }) => type === 'summary'), 'summary', 'summaries'],
    [
      count(({ type }) => type === 'synthetic'),
      'result added to a call that has none',
      'results added to calls that have none',
    ],
    [count(({ type }) => type === 'foreign'), 'not in the record', 'not in the record'],
  ] as const
  return [
    `${recorded === messages.length ? '' : `${groupedNumber(recorded)} `}of ${groupedNumber(len)} recorded`,
    ...others.flatMap(([number, singular, many]) => (number === 0 ? [] : [`+ ${countText(number, singular, many)}`])),
  ].join(' ')
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly of?: string | undefined
}

const Figure = ({ name, value, of }: FigureProps): VNode => (
  <div>
    <dt>{name}</dt>
    <dd>
      <strong>{value}</strong> {of === undefined ? null : <span class="quiet">{of}</span>}
    </dd>
  </div>
)

/** Up to where in the record the first messages of a context reach. */
const prefixEnd = (messages: readonly ContextMessage[]): number =>
  messages.reduce((end, { source }) => Math.max(end, recordedRange(source)?.to ?? 0), 0)

interface SentMessagesProps {
  readonly record: SessionRecord
  readonly saw: ContextMessage
  readonly index: number
  readonly tokens: number
  readonly cached: boolean
  /** Undefined where it is sent as it was recorded, as most are. */
  readonly reason: (position: number) => string | undefined
}

const SentMessages = ({
  record,
  saw: { message, source },
  index,
  tokens,
  cached,
  reason,
}: SentMessagesProps): VNode => {
  const original = useSignal(false)
  const { from, to } = rangeOf(source)
  const why = from === undefined ? 'not in the record' : reason(from)
  const changed = source.type === 'representation' || source.type === 'summary'
  const loss = source.type === 'clone' ? lossOf(record.entries[source.position]) : undefined
  return (
    <div class={`message ${message.role}${cached ? ' cached' : ''}`}>
      <header>
        <span class="role">{message.role}</span>
        <span>
          {loss ?? levelWords(source)} {from === undefined ? null : <Places id={record.id} from={from} to={to} />}
        </span>
        {loss === undefined ? <span>{countText(tokens, 'token')}</span> : null}
      </header>
      <div class="content">
        <MessageContent
          record={record}
          message={message}
          name={`saw/${record.id}/${index}/${from ?? ''}`}
          joined={false}
        />
        {changed && from !== undefined ? (
          <>
            <Button class="more" aria-expanded={original.value} onClick={() => (original.value = !original.value)}>
              {original.value ? 'Hide the recorded messages' : `Show ${countText(to - from, 'recorded message')}`}
            </Button>
            {original.value ? <Recorded record={record} from={from} to={to} /> : null}
          </>
        ) : null}
      </div>
      {why === undefined ? null : (
        <div class="marks" role="note" aria-label="why">
          {why}
        </div>
      )}
    </div>
  )
}

/** The recorded messages that a sent message stands for, or after which it was added. */
const rangeOf = (source: ContextMessage['source']): { readonly from?: number; readonly to: number } =>
  (source.type === 'synthetic' ? { from: source.position, to: source.position + 1 } : recordedRange(source)) ?? {
    to: 0,
  }

const lossWords = {
  erased: 'its text was erased since',
  damaged: 'its row is not what was appended',
} as const

const levelWords = (source: ContextSource | { readonly type: 'foreign' }): string => {
  switch (source.type) {
    case 'clone':
      return source.mended === true ? 'full, repaired' : 'full'
    case 'representation':
      return source.level === 'pointer' ? 'pointer to' : source.level
    case 'summary':
      return `summary by ${source.model} of`
    case 'synthetic':
      return `added for an ${source.reason} call, after`
    case 'foreign':
      return 'written by the program'
  }
}

const modelChoice = ({ name, calls }: PricedModel): readonly [string, string] => [
  name,
  `${visibleText(name)}${calls === -1 ? '' : calls === 0 ? ' · of this session' : ` · ${countText(calls, 'call')} of this session`}`,
]

const lastOf = (sums: readonly (number | null)[]): number | undefined =>
  sums.findLast((value) => value !== null) ?? undefined

interface ComparisonProps {
  readonly record: SessionRecord
  readonly calls: readonly ModelCall[]
  readonly budget: number
  readonly index: number
}

/** Tokens, cost and money of all calls, by each policy. */
const Comparison = ({ record, calls, budget, index }: ComparisonProps): VNode => {
  const open = useSignal(false)
  const series = useSignal<readonly Series[]>([])
  const done = useSignal(0)
  useEffect(() => {
    if (!open.value) return undefined
    const gone = new AbortController()
    const places = calls.map((call) => placeOf(record, call))
    const addSeries = (added: Series): void => void (series.value = [...series.value, added])
    const timer = setTimeout(
      () => void workerOf(record).compare(places, budget, gone.signal, addSeries, (part) => (done.value = part)),
      calls.length > mostComparedUnasked ? 0 : 150,
    )
    return () => {
      clearTimeout(timer)
      gone.abort()
      series.value = []
    }
  }, [open.value, calls, budget])
  const models = useMemo(() => pricedModels(record, calls), [record, calls])
  const model = useSignal(models[0]?.calls === -1 ? '' : (models[0]?.name ?? ''))
  const prices = pricesOf(model.value)
  const money = useMemo(
    () => (prices === undefined ? undefined : series.value.map((item) => dollarsSoFar(record, calls, item, prices))),
    [record, calls, series.value, prices],
  )
  const cheapest = Math.min(...series.value.map(({ cost }) => lastOf(cost) ?? Infinity))
  const least = Math.min(...(money ?? []).map((sums) => lastOf(sums) ?? Infinity))
  const ratioText = (value: number, of: number): string => (value === of ? '' : ` · ${(value / of).toFixed(1)}×`)
  const sums: readonly (readonly [heading: string, cell: (item: Series, at: number) => string])[] = [
    ['cost in tokens', ({ cost }) => `${compactNumber(lastOf(cost) ?? 0)}${ratioText(lastOf(cost) ?? 0, cheapest)}`],
    ...(money === undefined
      ? []
      : [
          [
            'cost in dollars',
            (_: Series, at: number) =>
              `${dollarsText(lastOf(money[at] ?? []) ?? 0)}${ratioText(lastOf(money[at] ?? []) ?? 0, least)}`,
          ] as const,
        ]),
    ['cacheable', ({ cached }) => `${(cached * 100).toFixed(1)} %`],
    ['compactions', ({ epochs }) => groupedNumber(epochs)],
    ['too small for', ({ tokens }) => countText(tokens.filter((value) => value === null).length, 'call')],
  ]
  return (
    <details class="compare" onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>Compare policies over all {groupedNumber(calls.length)} calls</summary>
      {open.value ? (
        <>
          {series.value.length < policies.length ? (
            <p class="quiet" role="status">
              deriving {Math.round(done.value * 100)} %
            </p>
          ) : null}
          {series.value.length === 0 ? null : (
            <>
              <label class="priced">
                Prices of
                <Choice label="prices of" choices={[['', 'no model'], ...models.map(modelChoice)]} value={model} />
              </label>
              <div class="plots">
                <Plot title="tokens of each call" series={series.value} values={({ tokens }) => tokens} call={index} />
                <Plot
                  title="cost so far, in uncached input tokens"
                  series={series.value}
                  values={({ cost }) => cost}
                  call={index}
                />
                {money === undefined ? null : (
                  <Plot
                    title="cost so far, in US dollars"
                    series={series.value}
                    values={(item) => money[series.value.indexOf(item)] ?? []}
                    call={index}
                    format={dollarsText}
                  />
                )}
              </div>
              <Numbers
                label="sums"
                headings={['policy', ...sums.map(([heading]) => heading)]}
                rows={series.value.map((item, at) => [
                  <>
                    <i class={`swatch ${lineClass(at)}`} /> {item.policy}
                  </>,
                  sums.map(([, cell]) => cell(item, at)),
                ])}
              />
              {prices === undefined ? null : (
                <p class="quiet">
                  Dollars are for the messages under each policy and the recorded answers, at the list prices of{' '}
                  {visibleText(model.value)} of {prices.read} (<Link href={prices.source}>source</Link>). A million
                  tokens:{' '}
                  {`$${prices.input} uncached input, $${prices.cacheRead} cached, $${prices.cacheWrite} cache write, $${prices.output} output.`}
                </p>
              )}
            </>
          )}
        </>
      ) : null}
    </details>
  )
}
