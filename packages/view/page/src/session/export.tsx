/** A window that makes a file of the session: all of it, a range, or what the filter shows; with or without secrets. */
import { useSignal } from '@preact/signals'
import type { HtmlSelection } from '../../../src/protocol.ts'
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { Button } from '../elements/controls.tsx'
import type { SessionRecord } from '../data/record.ts'
import { countText, visibleText } from '../format-text.ts'
import { reasonOf } from '../data/source.ts'

type Which = 'all' | 'range' | 'filter'

export const Export = ({
  record,
  filtered,
}: {
  readonly record: SessionRecord
  /** The positions that the filter shows, if there is one. */
  readonly filtered: (() => readonly number[]) | undefined
}): VNode | null => {
  const dialog = useRef<HTMLDialogElement>(null)
  const which = useSignal<Which>('all')
  const range = useSignal({ from: 0, to: record.entries.length })
  const redact = useSignal(false)
  const state = useSignal<'idle' | 'busy' | { readonly fault: string }>('idle')
  const { html } = record.source
  const len = record.version.value >= 0 ? record.entries.length : 0
  if (html === undefined) return null
  const save = async (): Promise<void> => {
    state.value = 'busy'
    try {
      const { from, to } = range.value
      const selection: HtmlSelection = {
        id: record.id,
        redact: redact.value,
        ...(which.value === 'range' && { from, to }),
        ...(which.value === 'filter' && filtered !== undefined && { only: withResults(record, filtered()) }),
      }
      const url = URL.createObjectURL(await html(selection))
      const link = document.createElement('a')
      link.href = url
      link.download = `${record.id.replaceAll(/[^\w.-]/g, '_')}.html`
      link.click()
      setTimeout(() => URL.revokeObjectURL(url), 60_000)
      state.value = 'idle'
      dialog.current?.close()
    } catch (cause) {
      state.value = { fault: reasonOf(cause) }
    }
  }
  const choice = (value: Which, text: string): VNode => (
    <label>
      <input type="radio" name="which" checked={which.value === value} onChange={() => (which.value = value)} /> {text}
    </label>
  )
  return (
    <>
      <Button
        onClick={() => {
          which.value = filtered === undefined ? 'all' : 'filter'
          range.value = { from: 0, to: record.entries.length }
          dialog.current?.showModal()
        }}
      >
        Export
      </Button>
      <dialog ref={dialog} aria-label="export" class="export">
        <p>
          <strong>One file that opens in any browser,</strong> without a network, and verifies itself. Its proof covers
          the other messages by their hash.
        </p>
        <fieldset>
          <legend class="quiet">Messages</legend>
          {choice('all', `All ${countText(len, 'message')}`)}
          {choice('range', 'From one position to another')}
          {which.value === 'range' ? (
            <span class="range">
              {(['from', 'to'] as const).map((end) => (
                <input
                  type="number"
                  aria-label={end === 'from' ? 'first position' : 'position after the last one'}
                  min={0}
                  max={len}
                  value={range.value[end]}
                  onInput={(event) =>
                    (range.value = { ...range.value, [end]: Math.max(0, Number(event.currentTarget.value)) })
                  }
                />
              ))}
            </span>
          ) : null}
          {filtered === undefined ? null : choice('filter', `The ${countText(filtered().length, 'filtered message')}`)}
        </fieldset>
        <label>
          <input
            type="checkbox"
            checked={redact.value}
            onChange={(event) => (redact.value = event.currentTarget.checked)}
          />{' '}
          Redact what looks like a secret
        </label>
        {typeof state.value === 'object' ? (
          <p class="bad" role="alert">
            {visibleText(state.value.fault)}
          </p>
        ) : null}
        <p class="ends">
          <Button onClick={() => dialog.current?.close()}>Cancel</Button>
          <Button class="plain main" disabled={state.value === 'busy'} onClick={() => void save()}>
            {state.value === 'busy' ? 'Creating the file…' : 'Save'}
          </Button>
        </p>
      </dialog>
    </>
  )
}

/** With each message the results that are shown with it. */
const withResults = (record: SessionRecord, positions: readonly number[]): readonly number[] => [
  ...new Set(
    positions.flatMap((position) => [
      position,
      ...(record.entries[position]?.message.content ?? []).flatMap((part) => {
        const result = part.type === 'tool_call' ? record.join.resultOf(part) : undefined
        return result === undefined ? [] : [result.entry.position]
      }),
    ]),
  ),
]
