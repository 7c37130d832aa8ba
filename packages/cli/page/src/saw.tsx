/** What the model saw: the context of each call beside the record, as it was sent or as a policy would have sent it. */
import { useSignal } from '@preact/signals'
import { estimateTokens, pricesOf, type ContextSource } from 'indelible/context'
import { defaultPrices } from 'indelible/context/kit'
import { residencyReason } from '../../src/model/residency-reason.ts'

import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { callsOf, type ModelCall } from './calls.ts'
import { compared, dollarsSoFar, pricedModels, type Series } from './compare.ts'
import { Legend } from './field.tsx'
import { Guarded } from './guarded.tsx'
import { JsonTree } from './json-tree.tsx'
import { useKeyActions } from './key-actions.ts'
import { useLoaded } from './loaded.ts'
import { Link } from './markdown.tsx'
import { MessageContent } from './message.tsx'
import { SourceContext } from './media.tsx'
import { lineClass, Plot } from './plot.tsx'
import type { SessionRecord } from './record.ts'
import { hrefOf, replaceRoute, route } from './route.ts'
import {
  derivedContext,
  epochStart,
  policies,
  recordedContext,
  type SawContext,
  type SawMessage,
} from './saw-context.ts'
import { SessionHead } from './session.tsx'
import { compact, counted, dollarsText, grouped, oneLine, sentence, shown } from './shown.ts'
import { Strip } from './strip.tsx'
import { VirtualFeed } from './virtual-feed.tsx'

const budgets = [2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 200, 256, 400, 512, 1000].map(
  (thousands) => thousands * 1000,
)
const defaultBudget = budgets.indexOf(32_000)
/** So many calls are compared without being asked. */
const fewCalls = 1500

export const SawView = ({
  record,
  call: given,
}: {
  readonly record: SessionRecord
  /** A receipt by its index among the notes, or an answer by its position. */
  readonly call: number | undefined
}): VNode => {
  const version = record.version.value
  const whole = record.whole.value
  const calls = useMemo(() => callsOf(record), [record, version])
  const index = indexOfCall(calls, given)
  return (
    <SourceContext.Provider value={record.source}>
      <SessionHead record={record} here={{ view: 'saw', id: record.id }} />
      {calls.length > 0 && whole ? (
        <Guarded name="What the model saw">
          <OneCall record={record} calls={calls} index={index} />
        </Guarded>
      ) : (
        <main class="nothing">{sawNothing(record)}</main>
      )}
    </SourceContext.Provider>
  )
}

const sawNothing = (record: SessionRecord): string =>
  record.failed.value
    ? 'Not all of the record could be read.'
    : !record.whole.value
      ? 'The record is being read.'
      : record.entries.some(({ state }) => state === 'encrypted')
        ? 'The record is encrypted, and its key is not here.'
        : 'The record has no answer of a model.'

const keyOf = (call: ModelCall): number => call.receipt?.index ?? call.answer

/** The last call, unless one is named. */
const indexOfCall = (calls: readonly ModelCall[], given: number | undefined): number => {
  const found = given === undefined ? -1 : calls.findIndex((call) => keyOf(call) === given)
  return found === -1 ? calls.length - 1 : found
}

const OneCall = ({
  record,
  calls,
  index,
}: {
  readonly record: SessionRecord
  readonly calls: readonly ModelCall[]
  readonly index: number
}): VNode => {
  const call = calls[index] as ModelCall
  const before = calls[index - 1]
  // What was sent is shown first, where somebody recorded it: nothing else is derived while it is read.
  const policy = useSignal<string>(call.receipt === undefined ? 'paged' : 'as sent')
  const budget = useSignal(defaultBudget)
  const chosen = useSignal<number | undefined>(undefined)
  const { value: recorded, fault } = useLoaded(
    async () => ({ of: call, context: await recordedContext(record, call, before) }),
    [call],
  )
  const first = useRef(true)
  useEffect(() => {
    if (recorded === undefined) return
    if (first.current) policy.value = recorded.context === undefined ? 'paged' : 'as sent'
    first.current = false
  }, [recorded])
  const tokens = budgets[budget.value] as number
  const own = policies.find(({ name }) => name === policy.value)
  const context = useMemo(
    () =>
      own === undefined
        ? recorded?.of === call
          ? recorded.context
          : undefined
        : derivedContext(record, call, before, own, tokens),
    [record, call, own, tokens, recorded],
  )
  const epochFrom = useMemo(
    () => (own === undefined ? undefined : epochStart(record, calls, index, own, tokens)?.len),
    [record, calls, index, own, tokens],
  )
  const show = (next: number): void => {
    const wanted = calls[Math.min(calls.length - 1, Math.max(0, next))]
    if (wanted !== undefined) replaceRoute({ view: 'saw', id: record.id, call: keyOf(wanted) })
  }
  const here = (): number => indexOfCall(calls, route.value.view === 'saw' ? route.value.call : undefined)
  useKeyActions({
    j: () => show(here() + 1),
    k: () => show(here() - 1),
    g: () => show(0),
    G: () => show(calls.length - 1),
  })
  const step = (label: string, sign: string, to: number): VNode => (
    <button type="button" class="plain" aria-label={label} disabled={calls[to] === undefined} onClick={() => show(to)}>
      {sign}
    </button>
  )
  const usage = call.receipt?.note.usage
  const model = call.receipt === undefined ? '' : ` of ${call.receipt.note.model}`
  return (
    <main class="saw">
      <section class="controls" aria-label="which call, and how its context is derived">
        <label>
          Call
          <span class="stepper">
            {step('call before', '‹', index - 1)}
            <input
              type="range"
              aria-label="call"
              min={0}
              max={calls.length - 1}
              value={index}
              onInput={(event) => show(Number(event.currentTarget.value))}
            />
            {step('next call', '›', index + 1)}
            <output>
              {grouped(index + 1)} of {grouped(calls.length)}
            </output>
          </span>
        </label>
        <label>
          Context
          <select
            aria-label="context"
            value={policy.value}
            onChange={(event) => (policy.value = event.currentTarget.value)}
          >
            {recorded?.context === undefined && policy.value !== 'as sent' ? null : <option>as sent</option>}
            {policies.map(({ name }) => (
              <option>{name}</option>
            ))}
          </select>
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
              <output>{compact(tokens)} tokens</output>
            </span>
          </label>
        )}
        <p class="answered">
          {call.isAnswered ? (
            <>
              answered by{' '}
              <a href={hrefOf({ view: 'session', id: record.id, at: call.answer })}>message {call.answer}</a>
              {model}
            </>
          ) : (
            `no answer${model} was recorded`
          )}
          {usage === undefined
            ? ''
            : `: ${grouped(usage.input)} tokens in by its count${usage.cacheRead === undefined ? '' : `, ${grouped(usage.cacheRead)} from its cache`}, ${grouped(usage.output)} out`}
        </p>
      </section>
      {context === undefined ? (
        <p class="nothing" role={fault === undefined ? 'status' : 'alert'}>
          {fault !== undefined
            ? sentence(fault)
            : recorded?.of === call
              ? 'Nobody recorded what this call was sent. Choose a policy to see what it would send.'
              : 'What was sent is being read.'}
        </p>
      ) : typeof context === 'string' ? (
        <p class="nothing bad" role="alert">
          {context}
        </p>
      ) : (
        <Shown
          record={record}
          call={call}
          context={context}
          epochFrom={epochFrom}
          policy={policy.value}
          chosen={chosen.value}
          choose={(at) => (chosen.value = at)}
        >
          <Guarded key={`${record.id} ${tokens}`} name="The comparison of policies">
            <Comparison record={record} calls={calls} budget={tokens} index={index} />
          </Guarded>
        </Shown>
      )}
    </main>
  )
}

const Shown = ({
  record,
  call,
  context,
  epochFrom,
  policy,
  chosen,
  choose,
  children,
}: {
  readonly record: SessionRecord
  readonly call: ModelCall
  readonly context: SawContext
  /** How many messages the record had when the epoch began. */
  readonly epochFrom: number | undefined
  readonly policy: string
  readonly chosen: number | undefined
  readonly choose: (position: number | undefined) => void
  readonly children: ComponentChildren
}): VNode => {
  const { derived, messages, prefix } = context
  const counts = useMemo(() => messages.map(({ message }) => estimateTokens(message)), [messages])
  const tokens = derived?.tokens ?? sum(counts)
  const cached = derived?.stableTokens ?? sum(counts.slice(0, prefix))
  const cost = derived?.cost ?? cached * defaultPrices.cached + (tokens - cached) * defaultPrices.fresh
  const cachedTo = prefixEnd(messages.slice(0, prefix))
  const { contextDigest: digest, usage } = call.receipt?.note ?? {}
  const reason = (position: number): string => {
    const entry = record.entries[position]
    if (entry === undefined || position >= call.len) return 'not recorded yet'
    if (record.retractedAt(position) !== undefined && context.levelOf(position) === 'pointer')
      return 'taken out of the conversation'
    if (derived === undefined) return context.levelOf(position) === 'full' ? 'sent as it was recorded' : 'not sent'
    return residencyReason(derived, position, record.pageOf(entry), policy)
  }
  return (
    <>
      <section class="overview" aria-label="the context">
        <dl class="figures">
          <Figure
            name="tokens"
            value={compact(tokens)}
            of={derived === undefined ? undefined : `of ${compact(derived.budget)}`}
          />
          <Figure name="messages" value={grouped(messages.length)} of={`of ${grouped(call.len)}`} />
          <Figure name="cacheable prefix" value={percent(cached, tokens)} of={counted(prefix, 'message')} />
          {derived !== undefined || usage?.cacheRead === undefined ? null : (
            <Figure name="from the cache" value={percent(usage.cacheRead, usage.input)} of="by the provider’s count" />
          )}
          <Figure name="cost" value={compact(cost)} of="plain tokens" />
          {derived === undefined ? null : (
            <Figure name="epoch" value={grouped(derived.epoch)} of={derived.epoch === 0 ? 'whole' : 'compacted'} />
          )}
          {digest === undefined || derived === undefined ? null : (
            <Figure name="digest" value={derived.digest === digest ? 'equal' : 'differs'} of="from the receipt" />
          )}
        </dl>
        <Guarded name="The strip of messages">
          <Strip
            total={record.entries.length}
            len={call.len}
            levelOf={context.levelOf}
            cachedTo={cachedTo}
            activeFrom={derived?.activeFrom}
            epochFrom={epochFrom}
            chosen={chosen}
            choose={choose}
            label={`how much of each of ${call.len} messages the call was sent; the list below says the same`}
          />
        </Guarded>
        <Legend
          marks={[
            ...(['full', 'compressed', 'structured', 'pointer'] as const).map(
              (level) => [<i class="level" style={{ background: `var(--level-${level})` }} />, level] as const,
            ),
            [<i class="level cached" />, 'cacheable prefix'],
            ...(epochFrom === undefined ? [] : [[<i class="level epoch" />, 'the epoch begins'] as const]),
            ...(derived === undefined ? [] : [[<i class="level active" />, 'the active turn begins'] as const]),
          ]}
        />
        {chosen === undefined ? null : (
          <p class="chosen" role="status">
            <a href={hrefOf({ view: 'session', id: record.id, at: chosen })}>Message {chosen}</a>
            {chosen < call.len
              ? ` · ${record.entries[chosen] === undefined ? '' : record.pageOf(record.entries[chosen])} · ${context.levelOf(chosen)} · `
              : ' · '}
            {reason(chosen)}
          </p>
        )}
        {context.broke === undefined ? null : <p class="chosen">The cached prefix ended: {shown(context.broke)}.</p>}
        {context.request === undefined ? null : <Beside request={context.request} />}
        {children}
      </section>
      <VirtualFeed
        label="messages that the call was sent"
        items={messages}
        estimate={90}
        keyOf={(_, index) => index}
        classOf={(_, index) => (index === prefix && prefix > 0 ? 'prefix-end' : '')}
        render={(saw, index) => (
          <Sent
            record={record}
            saw={saw}
            index={index}
            tokens={counts[index] ?? 0}
            cached={index < prefix}
            reason={reason}
          />
        )}
      />
    </>
  )
}

/** What a request had beside its messages: providers cache it before them. */
const Beside = ({ request }: { readonly request: NonNullable<SawContext['request']> }): VNode => (
  <>
    {(['tools', 'system', 'parameters'] as const).map((name) => {
      const value = request[name]
      return value === undefined ? null : (
        <details class="beside">
          <summary>
            {name} <span class="quiet">{besideWords(value)}</span>
          </summary>
          <JsonTree value={value} />
        </details>
      )
    })}
  </>
)

const besideWords = (value: unknown): string =>
  typeof value === 'string'
    ? oneLine(value, 80)
    : Array.isArray(value)
      ? grouped(value.length)
      : oneLine(JSON.stringify(value), 80)

const percent = (part: number, whole: number): string => `${whole === 0 ? 0 : Math.round((part / whole) * 100)} %`

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

const Figure = ({
  name,
  value,
  of,
}: {
  readonly name: string
  readonly value: string
  readonly of?: string | undefined
}): VNode => (
  <div>
    <dt>{name}</dt>
    <dd>
      <strong>{value}</strong> {of === undefined ? null : <span class="quiet">{of}</span>}
    </dd>
  </div>
)

/** Up to where in the record the first messages of a context reach. */
const prefixEnd = (messages: readonly SawMessage[]): number =>
  Math.max(
    0,
    ...messages.map(({ source }) => (source.type === 'clone' ? source.position + 1 : 'to' in source ? source.to : 0)),
  )

const Sent = ({
  record,
  saw: { message, source },
  index,
  tokens,
  cached,
  reason,
}: {
  readonly record: SessionRecord
  readonly saw: SawMessage
  readonly index: number
  readonly tokens: number
  readonly cached: boolean
  readonly reason: (position: number) => string
}): VNode => {
  const original = useSignal(false)
  const [from, to] = rangeOf(source)
  const changed = source.type === 'representation' || source.type === 'summary'
  return (
    <div class={`message ${message.role}${cached ? ' cached' : ''}`}>
      <header>
        <span class="role">{message.role}</span>
        <span>
          {levelWords(source)}
          {from === undefined ? null : (
            <>
              {' '}
              <a class="anchor" href={hrefOf({ view: 'session', id: record.id, at: from })}>
                {to === undefined || to - from === 1 ? from : `${from}–${to - 1}`}
              </a>
            </>
          )}
        </span>
        <span>{counted(tokens, 'token')}</span>
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
            <button
              type="button"
              class="more"
              aria-expanded={original.value}
              onClick={() => (original.value = !original.value)}
            >
              {original.value
                ? 'Hide what was recorded'
                : `What was recorded: ${counted((to ?? from + 1) - from, 'message')}`}
            </button>
            {original.value ? <Recorded record={record} from={from} to={to ?? from + 1} /> : null}
          </>
        ) : null}
      </div>
      <aside class="marks" aria-label="why">
        {from === undefined ? 'not in the record' : reason(from)}
      </aside>
    </div>
  )
}

const mostRecorded = 20

const Recorded = ({
  record,
  from,
  to,
}: {
  readonly record: SessionRecord
  readonly from: number
  readonly to: number
}): VNode => (
  <div class="recorded">
    {record.entries.slice(from, Math.min(to, from + mostRecorded)).map(({ message, position }) => (
      <div>
        <p class="quiet">
          {message.role}{' '}
          <a class="anchor" href={hrefOf({ view: 'session', id: record.id, at: position })}>
            {position}
          </a>
        </p>
        <MessageContent record={record} message={message} name={`recorded/${record.id}/${position}`} joined={false} />
      </div>
    ))}
    {to - from > mostRecorded ? (
      <p>
        <a href={hrefOf({ view: 'session', id: record.id, at: from + mostRecorded })}>
          {counted(to - from - mostRecorded, 'more message')}
        </a>
      </p>
    ) : null}
  </div>
)

const rangeOf = (source: SawMessage['source']): readonly [from: number | undefined, to: number | undefined] =>
  source.type === 'foreign'
    ? [undefined, undefined]
    : 'position' in source
      ? [source.position, source.position + 1]
      : [source.from, source.to]

const levelWords = (source: ContextSource | { readonly type: 'foreign' }): string => {
  switch (source.type) {
    case 'clone':
      return source.mended === true ? 'whole, mended' : 'whole'
    case 'representation':
      return source.level === 'pointer' ? 'marker for' : source.level
    case 'summary':
      return `summary by ${source.model} of`
    case 'synthetic':
      return `made up: ${source.reason}, after`
    case 'foreign':
      return 'written by the program'
  }
}

const lastOf = (sums: readonly (number | null)[]): number | undefined =>
  sums.findLast((value) => value !== null) ?? undefined

/** Tokens, cost and money of all calls, by each policy. */
const Comparison = ({
  record,
  calls,
  budget,
  index,
}: {
  readonly record: SessionRecord
  readonly calls: readonly ModelCall[]
  readonly budget: number
  readonly index: number
}): VNode => {
  const open = useSignal(false)
  const series = useSignal<readonly Series[]>([])
  const share = useSignal(0)
  useEffect(() => {
    if (!open.value) return undefined
    const gone = new AbortController()
    const all = async (): Promise<void> => {
      for await (const one of compared(record, calls, budget, gone.signal, (done) => (share.value = done)))
        series.value = [...series.value, one]
    }
    const timer = setTimeout(() => void all(), calls.length > fewCalls ? 0 : 150)
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
    () => (prices === undefined ? undefined : series.value.map((one) => dollarsSoFar(record, calls, one, prices))),
    [record, calls, series.value, prices],
  )
  const cheapest = Math.min(...series.value.map(({ cost }) => lastOf(cost) ?? Infinity))
  const least = Math.min(...(money ?? []).map((sums) => lastOf(sums) ?? Infinity))
  const times = (value: number, of: number): string => (value === of ? '' : ` · ${(value / of).toFixed(1)}×`)
  const sums: readonly (readonly [heading: string, cell: (one: Series, at: number) => string])[] = [
    ['cost', ({ cost }) => `${compact(lastOf(cost) ?? 0)}${times(lastOf(cost) ?? 0, cheapest)}`],
    ...(money === undefined
      ? []
      : [
          [
            'money',
            (_: Series, at: number) =>
              `${dollarsText(lastOf(money[at] ?? []) ?? 0)}${times(lastOf(money[at] ?? []) ?? 0, least)}`,
          ] as const,
        ]),
    ['cacheable', ({ cached }) => `${(cached * 100).toFixed(1)} %`],
    ['epochs', ({ epochs }) => grouped(epochs)],
    ['too small for', ({ tokens }) => counted(tokens.filter((value) => value === null).length, 'call')],
  ]
  return (
    <details class="compare" onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>Compare policies over all {grouped(calls.length)} calls</summary>
      {open.value ? (
        <>
          {series.value.length < policies.length ? (
            <p class="quiet" role="status">
              deriving {Math.round(share.value * 100)} %
            </p>
          ) : null}
          {series.value.length === 0 ? null : (
            <>
              <label class="priced">
                Prices of
                <select
                  aria-label="prices of"
                  value={model.value}
                  onChange={(event) => (model.value = event.currentTarget.value)}
                >
                  <option value="">no model</option>
                  {models.map(({ name, calls: count }) => (
                    <option value={name}>
                      {shown(name)}
                      {count === -1
                        ? ''
                        : count === 0
                          ? ' · of this session'
                          : ` · ${counted(count, 'call')} of this session`}
                    </option>
                  ))}
                </select>
              </label>
              <div class="plots">
                <Plot title="tokens of each call" series={series.value} values={({ tokens }) => tokens} call={index} />
                <Plot
                  title="cost so far, in tokens of plain input"
                  series={series.value}
                  values={({ cost }) => cost}
                  call={index}
                />
                {money === undefined ? null : (
                  <Plot
                    title="money so far, in US dollars"
                    series={series.value}
                    values={(one) => money[series.value.indexOf(one)] ?? []}
                    call={index}
                    unit={dollarsText}
                  />
                )}
              </div>
              <div class="scrolls" tabIndex={0} role="group" aria-label="sums">
                <table>
                  <thead>
                    <tr>
                      <th>policy</th>
                      {sums.map(([heading]) => (
                        <th class="align-right">{heading}</th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {series.value.map((one, at) => (
                      <tr>
                        <td>
                          <i class={`swatch ${lineClass(at)}`} /> {one.policy}
                        </td>
                        {sums.map(([, cell]) => (
                          <td class="align-right">{cell(one, at)}</td>
                        ))}
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              {prices === undefined ? null : (
                <p class="quiet">
                  Money is that of the messages under each policy and of the recorded answers, at the list prices of{' '}
                  {shown(model.value)} of {prices.read} (<Link href={prices.source}>source</Link>):{' '}
                  {`$${prices.input} for a million tokens, $${prices.cacheRead} from the cache, $${prices.cacheWrite} into it, $${prices.output} answered.`}
                </p>
              )}
            </>
          )}
        </>
      ) : null}
    </details>
  )
}
