/** Whether a session is what was appended: a word in its head, and what was compared behind it. */
import { useSignal } from '@preact/signals'
import type { ViewedEvidence } from '../../src/view/protocol.ts'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Field, HeadText } from './field.tsx'
import { proofOf, rootAt, type Proof } from './proof.ts'
import type { SessionRecord } from './record.ts'
import { hrefOf } from './route.ts'
import { countText, groupedNumber, sentence } from './format-text.ts'
import { userKeys, judgeEvidence, Signed } from './signatures.tsx'
import { reasonOf, retryUntilAnswered } from './source.ts'

const knownProofs = new WeakMap<SessionRecord, { readonly proof: Proof; readonly evidence?: ViewedEvidence }>()
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
    if (!ready || knownProofs.get(record)?.proof.stated.root === head.root) return undefined
    const gone = new AbortController()
    record.gone.addEventListener('abort', () => gone.abort())
    const look = async (): Promise<void> => {
      const proof = await proofOf(record, knownProofs.get(record)?.proof, (rows) => (done.value = rows))
      knownProofs.set(record, { proof })
      if (!gone.signal.aborted) found.value = { proof }
      const evidence = await source.evidence(record.id)
      knownProofs.set(record, { proof, evidence })
      if (!gone.signal.aborted) found.value = { proof, evidence }
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
  const proof = found.value?.proof
  const evidence = found.value?.evidence
  const signed = useMemo(
    () => (proof === undefined || evidence === undefined ? undefined : judgeEvidence(evidence, record.id, proof)),
    [proof, evidence, userKeys.value],
  )
  // Without all rows there is no proof: then it says so, and why.
  const fault = failed.value ?? (ready || proof !== undefined ? undefined : record.fault.value)
  const [tone, words] =
    proof?.damaged !== undefined
      ? (['bad', `Altered at ${placeOf(record, proof.damaged.row)}`] as const)
      : typeof signed === 'string' || signed?.same === false
        ? (['bad', 'Not as signed'] as const)
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
        {proof !== undefined ? (
          <ComparedHead record={record} proof={proof} />
        ) : fault === undefined ? (
          <p>The rows are still being read.</p>
        ) : (
          <p>
            {countText(record.rows.length, 'row')} of {groupedNumber(head.size)} could be read. Nothing is verified
            until all are read.
          </p>
        )}
        {proof === undefined || evidence === undefined || proof.damaged !== undefined ? null : (
          <Signed evidence={evidence} exported={source.exported} id={record.id} proof={proof} />
        )}
        <form method="dialog">
          <button class="plain">Close</button>
        </form>
      </dialog>
    </>
  )
}

/** As the command names it: the row, which counts notes too, and the message that it is. */
const placeOf = (record: SessionRecord, row: number): string => {
  const entry = record.entries.find((one) => one.row === row)
  return `row ${row}${entry === undefined ? '' : ` (message ${entry.position})`}`
}

const ComparedHead = ({ record, proof }: { readonly record: SessionRecord; readonly proof: Proof }): VNode => {
  const { stated, computed, damaged, byLeaf, encrypted, blocks } = proof
  const kept = useSignal('')
  const entry = damaged && record.entries.find(({ row }) => row === damaged.row)
  return (
    <>
      {damaged === undefined ? (
        <p>
          <strong>Nothing was changed after it was appended.</strong> This browser computed the Merkle root of the rows
          shown here, and it is the root of the stated head.
        </p>
      ) : (
        <p class="bad">
          <strong>The record was altered.</strong> Row {groupedNumber(damaged.row)}
          {entry === undefined ? null : (
            <>
              , which is{' '}
              <a href={hrefOf({ view: 'session', id: record.id, at: entry.position })}>message {entry.position}</a>
            </>
          )}
          : {damaged.reason}.
        </p>
      )}
      <dl class="fields">
        <Field name="Rows">
          {groupedNumber(computed.size)} hashed{rowsText(record)}
          {byLeaf === 0 ? '' : `, ${groupedNumber(byLeaf)} of them by their leaf hash alone: their text is not here`}
          {encrypted === 0
            ? ''
            : `, ${groupedNumber(encrypted)} as they are stored, encrypted: without their key, their blocks are not compared`}
        </Field>
        <Field name="Blocks">
          {countText(blocks, 'block')}, each with the digest in its row
          {record.info.value.encrypted === true ? '; rows and blocks are hashed as they are stored, encrypted' : ''}
        </Field>
        <Field name="Stated">
          <HeadText head={stated} />
        </Field>
        <Field name="Computed">
          <HeadText head={computed} />
        </Field>
      </dl>
      <label class="kept">
        A head that you kept elsewhere, as “indelible head --full” prints it
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
  )
}

/** What the rows of a session are. */
const rowsText = ({ entries, notes }: SessionRecord): string => {
  const calls = notes.filter(({ note }) => note.type === 'receipt').length
  const others = notes.length - calls
  return [
    `: ${countText(entries.length, 'message')}`,
    calls === 0 ? [] : countText(calls, 'call record'),
    others === 0 ? [] : countText(others, calls === 0 ? 'note' : 'other note'),
  ]
    .flat()
    .join(', ')
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
