/** The keys of the page, in a window that opens with `?`. */
import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { Button } from '../elements/controls.tsx'
import { useKeyActions } from '../elements/key-actions.ts'
import { allOpen, openAll } from '../message/folding.ts'

const keys: readonly (readonly [key: string, does: string])[] = [
  ['j', 'next message'],
  ['k', 'previous message'],
  ['g', 'first message'],
  ['G', 'last message'],
  ['o', 'expand or collapse the parts of the message'],
  ['e', 'expand or collapse everything'],
  ['/', 'search'],
  ['n', 'next message that was found'],
  ['N', 'previous message that was found'],
  ['?', 'this list'],
]

export const Keys = (): VNode => {
  const dialog = useRef<HTMLDialogElement>(null)
  useKeyActions({ '?': () => dialog.current?.showModal() })
  return (
    <>
      <Button onClick={openAll} aria-pressed={allOpen()}>
        {allOpen() ? 'Collapse all' : 'Expand all'}
      </Button>
      <Button class="plain key-button" aria-label="keys" title="Keys" onClick={() => dialog.current?.showModal()}>
        ?
      </Button>
      <dialog
        ref={dialog}
        aria-label="keys"
        onClick={(event) => event.target === dialog.current && dialog.current?.close()}
      >
        <dl class="keys">
          {keys.map(([key, does]) => (
            <div>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button class="plain">Close</button>
        </form>
      </dialog>
    </>
  )
}
