/** Whether a session is what was appended: a word in its head, and what was compared behind it. */
import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { proofOf, rootAt, type Proof } from './proof.ts'
import type { SessionRecord } from './record.ts'
import { hrefOf } from './route.ts'
import { counted, grouped, shown } from './shown.ts'
import type { Source } from './source.ts'

const known = new WeakMap<SessionRecord, Proof>()
/** After so many milliseconds without a new row, a live session is proven again. */
const rest = 400

export const Verified = ({ source, record }: { readonly source: Source; readonly record: SessionRecord }): VNode => {
  const proof = useSignal<Proof | undefined>(known.get(record))
  const done = useSignal(0)
  const failed = useSignal<string | undefined>(undefined)
  const dialog = useRef<HTMLDialogElement>(null)
  const { head } = record.info.value
  const ready = record.whole.value && record.version.value >= 0 && record.rows.length >= head.size
  useEffect(() => {
    if (!ready || known.get(record)?.stated.root === head.root) return undefined
    let gone = false
    const prove = async (): Promise<void> => {
      try {
        const found = await proofOf(source, record, known.get(record), (rows) => (done.value = rows))
        known.set(record, found)
        if (!gone) proof.value = found
      } catch (cause) {
        if (!gone) failed.value = cause instanceof Error ? cause.message : String(cause)
      }
    }
    const timer = setTimeout(() => void prove(), known.has(record) ? rest : 0)
    return () => {
      gone = true
      clearTimeout(timer)
    }
  }, [record, ready, head.root])
  const found = proof.value
  const damaged = found?.damaged
  return (
    <>
      <button
        type="button"
        class={`verified ${damaged !== undefined || failed.value !== undefined ? 'bad' : found === undefined ? 'busy' : 'good'}`}
        onClick={() => dialog.current?.showModal()}
        aria-live="polite"
      >
        {failed.value !== undefined
          ? 'Not verified'
          : found === undefined
            ? done.value === 0
              ? 'Verifying…'
              : `Verifying ${grouped(done.value)}…`
            : damaged === undefined
              ? 'Verified'
              : `Altered at row ${grouped(damaged.row)}`}
      </button>
      <dialog
        ref={dialog}
        class="proof"
        aria-label="proof"
        onClick={(event) => event.target === dialog.current && dialog.current?.close()}
      >
        {failed.value === undefined ? null : <p class="bad">{shown(failed.value)}</p>}
        {found === undefined ? <p>The rows are still being read.</p> : <Compared record={record} proof={found} />}
        <form method="dialog">
          <button class="plain">Close</button>
        </form>
      </dialog>
    </>
  )
}

const Compared = ({ record, proof }: { readonly record: SessionRecord; readonly proof: Proof }): VNode => {
  const { stated, computed, damaged, byLeaf, blocks } = proof
  const kept = useSignal('')
  const entry = damaged && record.entries.find(({ row }) => row === damaged.row)
  return (
    <>
      {damaged === undefined ? (
        <p>
          <strong>This is what was appended.</strong> The Merkle root of the rows shown here was computed in this
          browser, and it is the root of the stated head.
        </p>
      ) : (
        <p class="bad">
          <strong>The record was altered.</strong> Row {grouped(damaged.row)}
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
        <div>
          <dt>Rows</dt>
          <dd>
            {grouped(computed.size)} hashed
            {byLeaf === 0 ? '' : `, of these ${grouped(byLeaf)} by their leaf alone: their text is not here`}
          </dd>
        </div>
        <div>
          <dt>Blocks</dt>
          <dd>
            {counted(blocks, 'block')} with the digest that its row names
            {record.info.value.encrypted === true ? '; rows and blocks are hashed as they are stored, encrypted' : ''}
          </dd>
        </div>
        <div>
          <dt>Stated</dt>
          <dd>
            <code class="root">{`${stated.size}:${stated.root}`}</code>
          </dd>
        </div>
        <div>
          <dt>Computed</dt>
          <dd>
            <code class="root">{`${computed.size}:${computed.root}`}</code>
          </dd>
        </div>
      </dl>
      <label class="kept">
        A head that you kept elsewhere
        <input
          placeholder="SIZE:ROOT, as “indelible head --full” prints it"
          value={kept.value}
          onInput={(event) => (kept.value = event.currentTarget.value)}
        />
      </label>
      <p role="status">
        {kept.value.trim() === ''
          ? 'Without one, whoever can write to the store could have replaced the whole record.'
          : compared(proof, kept.value)}
      </p>
    </>
  )
}

const compared = (proof: Proof, text: string): string => {
  const found = /^\s*(\d{1,15}):([\da-f]{64})\s*$/.exec(text)
  if (found === null) return 'A head is a number, a colon and 64 hexadecimal digits.'
  const size = Number(found[1])
  const root = rootAt(proof, size)
  if (root === undefined) return `The record has only ${counted(proof.leaves.length, 'row')}.`
  return root === found[2]
    ? `The first ${counted(size, 'row')} are exactly those of this head.`
    : `The first ${counted(size, 'row')} are not those of this head: the record was replaced.`
}
