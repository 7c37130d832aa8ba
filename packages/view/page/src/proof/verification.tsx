/** Whether a session is what was appended: a word in its head, and what was compared behind it. */
import { useSignal } from '@preact/signals'
import type { RowKind } from 'indelible/store'
import { placeText } from '../../../src/texts/about.ts'
import type { Verdict, ViewedEvidence } from '../../../src/protocol.ts'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Field, HeadText } from '../elements/field.tsx'
import { proofOf, rootAt, type Proof } from './proof.ts'
import { erasedText, erasuresOf } from '../data/overviews.ts'
import type { DamagedRow, NamedBlock, SessionRecord } from '../data/record.ts'
import { hrefOf } from '../route.ts'
import { countText, groupedNumber, sentence, visibleText } from '../format-text.ts'
import { userKeys, judgeEvidence, Signed } from './signatures.tsx'
import { NoAnswer, reasonOf, retryUntilAnswered } from '../data/source.ts'
import { useLoaded } from '../data/use-loaded.ts'

/** What was found of a record. */
interface Found {
  /** Undefined if the nodes of the tree could not be read. */
  readonly proof: Proof | undefined
  /** Of the store; undefined in a file. */
  readonly verdict: Verdict | undefined
  readonly evidence?: ViewedEvidence
}

const knownProofs = new WeakMap<SessionRecord, Found>()
/** The proofs that were computed, also for nobody: a longer one continues them. */
const computedProofs = new WeakMap<SessionRecord, Proof>()
/** After so many milliseconds without a new row, a live session is proven again. */
const idleMs = 400

export const Verified = ({ record }: { readonly record: SessionRecord }): VNode => {
  const { source } = record
  const found = useSignal(knownProofs.get(record))
  const done = useSignal(0)
  const failed = useSignal<string | undefined>(undefined)
  const dialog = useRef<HTMLDialogElement>(null)
  const { head } = record.info.value
  const ready = record.whole.value && record.version.value >= 0 && record.rows.length >= head.size
  useEffect(() => {
    if (!ready || knownProofs.get(record)?.proof?.stated.root === head.root) return undefined
    const gone = new AbortController()
    record.gone.addEventListener('abort', () => gone.abort())
    const compute = async (): Promise<Proof> => {
      const proof = await proofOf(record, computedProofs.get(record), (rows) => (done.value = rows))
      computedProofs.set(record, proof)
      return proof
    }
    const look = async (): Promise<void> => {
      const [computed, verdict] = await Promise.all([
        compute().catch((cause: unknown) => ({ cause })),
        source.verdict?.(record.id, gone.signal),
      ])
      const proof = 'cause' in computed ? undefined : computed
      // What the store found may explain why the tree could not be read.
      if ('cause' in computed && (computed.cause instanceof NoAnswer || verdict?.damaged === undefined))
        throw computed.cause
      record.mark(damagedRows(proof, verdict))
      knownProofs.set(record, { proof, verdict })
      if (!gone.signal.aborted) found.value = { proof, verdict }
      const evidence = await source.evidence(record.id)
      knownProofs.set(record, { proof, verdict, evidence })
      if (!gone.signal.aborted) found.value = { proof, verdict, evidence }
      failed.value = undefined
    }
    const fail = (cause: unknown): void => void (gone.signal.aborted || (failed.value = reasonOf(cause)))
    const timer = setTimeout(
      () => void retryUntilAnswered(look, gone.signal, fail).catch(fail),
      knownProofs.has(record) ? idleMs : 0,
    )
    return () => {
      clearTimeout(timer)
      gone.abort()
    }
  }, [record, ready, head.root])
  const { proof, verdict, evidence } = found.value ?? {}
  const signed = useMemo(
    () => (proof === undefined || evidence === undefined ? undefined : judgeEvidence(evidence, record.id, proof)),
    [proof, evidence, userKeys.value],
  )
  const damaged = useMemo(() => damagedRows(proof, verdict), [proof, verdict])
  const [first] = damaged.keys()
  const missing = verdict?.missing.length ?? 0
  // Without all rows there is no proof: then it says so, and why.
  const fault = failed.value ?? (ready || found.value !== undefined ? undefined : record.fault.value)
  const [tone, words] =
    first !== undefined
      ? (['bad', `Damaged at ${placeOf(record, first)}`] as const)
      : typeof signed === 'string' || signed?.same === false
        ? (['bad', 'Not as signed'] as const)
        : missing > 0
          ? (['bad', `${countText(missing, 'block')} missing`] as const)
          : proof !== undefined
            ? (['good', signed?.counts === true ? 'Verified, signed' : 'Verified'] as const)
            : fault !== undefined
              ? (['bad', 'Not verified'] as const)
              : (['busy', done.value === 0 ? 'Verifying…' : `Verifying ${groupedNumber(done.value)}…`] as const)
  // The window itself has the focus: its first field would bring up a keyboard.
  const open = (): void => {
    dialog.current?.showModal()
    dialog.current?.focus()
  }
  return (
    <>
      <button type="button" class={`verified ${tone}`} onClick={open} aria-live="polite">
        {words}
      </button>
      <dialog
        ref={dialog}
        class="proof"
        aria-label="proof"
        tabIndex={-1}
        onClick={(event) => event.target === dialog.current && dialog.current?.close()}
      >
        {fault === undefined ? null : <p class="bad">{sentence(fault)}</p>}
        {found.value !== undefined ? (
          <Compared record={record} proof={proof} verdict={verdict} damaged={damaged} />
        ) : fault === undefined ? (
          <p>The rows are still being read.</p>
        ) : (
          <p>
            {countText(record.rows.length, 'row')} of {groupedNumber(head.size)} could be read. Nothing is verified
            until all are read.
          </p>
        )}
        {proof === undefined || evidence === undefined || first !== undefined ? null : (
          <Signed evidence={evidence} exported={source.exported} id={record.id} proof={proof} />
        )}
        <form method="dialog">
          <button class="plain">Close</button>
        </form>
      </dialog>
    </>
  )
}

/** What this browser and the store found damaged, in the order of the rows. */
const damagedRows = (proof: Proof | undefined, verdict: Verdict | undefined): ReadonlyMap<number, DamagedRow> => {
  const damaged = new Map(proof?.damaged)
  const { row, reason } = verdict?.damaged ?? {}
  if (row !== undefined && reason !== undefined && !damaged.has(row)) damaged.set(row, { reason, altered: false })
  return new Map([...damaged].toSorted(([a], [b]) => a - b))
}

/** As the command names it: the row, which counts notes too, and the message that it is. */
const placeOf = (record: SessionRecord, row: number): string =>
  placeText({ row, position: record.entries.find((entry) => entry.row === row)?.position })

interface ComparedProps {
  readonly record: SessionRecord
  readonly proof: Proof | undefined
  readonly verdict: Verdict | undefined
  readonly damaged: ReadonlyMap<number, DamagedRow>
}

const Compared = ({ record, proof, verdict, damaged }: ComparedProps): VNode => {
  const kept = useSignal('')
  const [first] = damaged
  return (
    <>
      {first !== undefined ? (
        <Damage record={record} damaged={damaged} />
      ) : (
        <p>
          <strong>{unchangedText(record)}</strong> This browser computed the Merkle root of the rows shown here, and it
          is the root of the stated head.
        </p>
      )}
      {first === undefined && verdict?.problem !== undefined ? <p class="bad">{sentence(verdict.problem)}</p> : null}
      <Erasures record={record} />
      {proof === undefined ? null : (
        <dl class="fields">
          <Field name="Rows">{rowsText(record, proof)}</Field>
          <Field name="Blocks">
            {blocksText(record, verdict)}
            {record.info.value.encrypted === true ? '; rows and blocks are hashed as they are stored, encrypted' : ''}
          </Field>
          <Field name="Stated">
            <HeadText head={proof.stated} />
          </Field>
          <Field name="Computed">
            <HeadText head={proof.computed} />
          </Field>
        </dl>
      )}
      {proof === undefined || first !== undefined ? null : (
        <>
          <label class="kept">
            A head that you kept elsewhere, as “indelible prove SESSION --full” prints it
            <input
              placeholder="SIZE:ROOT"
              value={kept.value}
              onInput={(event) => (kept.value = event.currentTarget.value)}
            />
          </label>
          <p role="status">
            {kept.value.trim() === ''
              ? 'Without one, anybody who can write to the store could have replaced the whole record.'
              : compareHead(proof, kept.value)}
          </p>
        </>
      )}
    </>
  )
}

const mostDamageShown = 20

/** The damaged rows, each with what is wrong with it. */
const Damage = ({
  record,
  damaged,
}: {
  readonly record: SessionRecord
  readonly damaged: ReadonlyMap<number, DamagedRow>
}): VNode => {
  const positions = new Map(record.entries.map(({ row, position }) => [row, position]))
  return (
    <>
      <p class="bad">
        <strong>The record is damaged</strong> at {countText(damaged.size, 'row')}:
      </p>
      <ul class="signatures bad">
        {[...damaged].slice(0, mostDamageShown).map(([row, { reason }]) => {
          const position = positions.get(row)
          return (
            <li>
              row {row}
              {position === undefined ? null : (
                <>
                  {' '}
                  (<a href={hrefOf({ view: 'session', id: record.id, at: position })}>message {position}</a>)
                </>
              )}
              : {visibleText(reason)}
            </li>
          )
        })}
        {damaged.size > mostDamageShown ? <li>{countText(damaged.size - mostDamageShown, 'more row')}</li> : null}
      </ul>
    </>
  )
}

/** What was erased, by whom, why and when. */
const Erasures = ({ record }: { readonly record: SessionRecord }): VNode | null => {
  const erased = new Map(
    record.entries.flatMap(({ state, row, position }) => (state === 'erased' ? [[row, position] as const] : [])),
  )
  const { value: erasures } = useLoaded(
    async () => (erased.size === 0 ? [] : erasuresOf(record)),
    [record, erased.size],
  )
  if (erasures === undefined || erasures.length === 0) return null
  return (
    <ul class="signatures">
      {erasures.map((erasure) => (
        <li>
          {erasure.rows.length === 1 ? 'message' : 'messages'}{' '}
          {erasure.rows
            .flatMap((row) => erased.get(row) ?? [])
            .slice(0, mostDamageShown)
            .join(', ')}
          {erasure.rows.length > mostDamageShown ? ', …' : ''}: {erasedText(erasure)}
        </li>
      ))}
    </ul>
  )
}

const unchangedText = ({ rows }: SessionRecord): string => {
  const count = (kind: RowKind): number => rows.filter((row) => row.state === 'erased' && row.kind === kind).length
  const [messages, notes] = [count('entry'), count('note')]
  if (messages + notes === 0) return 'Nothing was changed after it was appended.'
  const what = [
    ...(messages === 0 ? [] : [countText(messages, 'message')]),
    ...(notes === 0 ? [] : [countText(notes, 'note')]),
  ]
  return `The text of ${what.join(' and ')} was erased. Nothing else was changed after it was appended.`
}

/** What the rows of a session are, as they were hashed. */
const rowsText = (record: SessionRecord, { stated: { size }, hashed, encrypted }: Proof): string => {
  const rows = record.rows.slice(0, size)
  const messages = rows.filter(({ kind }) => kind === 'entry').length
  const calls = record.notes.filter(({ note, row }) => note.type === 'receipt' && row < size).length
  const others = size - messages - calls
  const byLeaf = (['erased', 'left-out', 'redacted'] as const).flatMap((state) => {
    const count = rows.filter((row) => row.state === state).length
    return count === 0 ? [] : [`${groupedNumber(count)} ${leafWords[state]}`]
  })
  return [
    `${hashed === size ? '' : `${groupedNumber(hashed)} of `}${groupedNumber(size)} hashed: ${countText(messages, 'message')}`,
    calls === 0 ? [] : countText(calls, 'call record'),
    others === 0 ? [] : countText(others, calls === 0 ? 'note' : 'other note'),
    encrypted === 0
      ? []
      : `${groupedNumber(encrypted)} as they are stored, encrypted: without their key, their blocks are not compared`,
  ]
    .flat()
    .join(', ')
    .concat(byLeaf.length === 0 ? '' : `; by their leaf hash alone: ${byLeaf.join(', ')}`)
}

const leafWords = { erased: 'erased', 'left-out': 'not in this file', redacted: 'redacted' } as const

const blocksText = ({ blocks, source }: SessionRecord, verdict: Verdict | undefined): string => {
  const count = (wanted: NamedBlock['state']): number =>
    [...blocks.values()].filter(({ state }) => state === wanted).length
  const [good, altered] = [count('good'), count('altered')]
  const missing = Math.max(count('missing'), verdict?.missing.length ?? 0)
  if (altered + missing === 0)
    return `${countText(good, 'block')}${good === 0 ? '' : ', each with the digest in its row'}`
  const states = [
    good === 0 ? [] : `${groupedNumber(good)} with the digest in its row`,
    altered === 0 ? [] : `${groupedNumber(altered)} altered`,
    missing === 0 ? [] : `${groupedNumber(missing)} ${source.exported ? 'not in this file' : 'missing'}`,
  ]
  return `${countText(good + altered + missing, 'block')}: ${states.flat().join(', ')}`
}

const compareHead = (proof: Proof, text: string): string => {
  const found = /^\s*(\d{1,15}):([\da-f]{64})\s*$/.exec(text)
  if (found === null) return 'A head is a number, a colon and 64 hexadecimal digits.'
  const size = Number(found[1])
  const root = rootAt(proof, size)
  if (root === undefined) return `The record has only ${countText(proof.leaves.length, 'row')}.`
  return root === found[2]
    ? `The first ${countText(size, 'row')} are exactly those of this head.`
    : `The first ${countText(size, 'row')} are not those of this head: the record was replaced.`
}
