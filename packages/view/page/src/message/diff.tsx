/** Changes of text, as lines that went and lines that came. */
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { linesOf, longest, type Line } from '../../../src/texts/line-changes.ts'
import { Button } from '../elements/controls.tsx'
import { countText, visibleText } from '../format-text.ts'

const mostLines = 80

/** What became of a text. */
export const Change = ({ before, after }: { readonly before: string; readonly after: string }): VNode => {
  const lines = useMemo(() => linesOf(visibleText(before), visibleText(after)), [before, after])
  return <Lines lines={lines} />
}

/** A text that is a diff already. */
export const Patch = ({ text }: { readonly text: string }): VNode => {
  const lines = useMemo(
    () =>
      visibleText(text)
        .split('\n')
        .map((line): Line => {
          const sign = line[0]
          if (/^(?:diff --git|index [\da-f]|--- |\+\+\+ |@@|\*\*\* )/.test(line)) return { sign: '@', text: line }
          return sign === '+' || sign === '-'
            ? { sign, text: line.slice(1) }
            : { sign: ' ', text: line.replace(/^ /, '') }
        }),
    [text],
  )
  return <Lines lines={lines} />
}

/** Whether a text is a diff in the format of `diff -u` or of git. */
export const isPatch = (text: string): boolean =>
  text.length < longest &&
  /^(?:diff --git |--- \S.*\n\+\+\+ |\*\*\* Begin Patch)/m.test(text.slice(0, 4000)) &&
  (/^@@/m.test(text) || text.includes('*** Begin Patch'))

const Lines = ({ lines }: { readonly lines: readonly Line[] }): VNode => {
  const [all, setAll] = useState(false)
  const part = all ? lines : lines.slice(0, mostLines)
  const came = lines.filter(({ sign }) => sign === '+').length
  const went = lines.filter(({ sign }) => sign === '-').length
  return (
    <div class="diff">
      <p class="diff-sum">
        <span class="came">+{came}</span> <span class="went">−{went}</span>
      </p>
      <pre tabIndex={0} role="group" aria-label={`change: ${countText(came, 'line')} added, ${went} removed`}>
        {part.map(({ sign, text }) => (
          <span class={`line ${classes[sign]}`}>
            <span aria-hidden="true">{sign === '@' ? ' ' : sign}</span> {text}
            {'\n'}
          </span>
        ))}
      </pre>
      {lines.length > mostLines ? (
        <Button class="more" onClick={() => setAll(!all)}>
          {all ? 'Show less' : `Show all ${countText(lines.length, 'line')}`}
        </Button>
      ) : null}
    </div>
  )
}

const classes = { ' ': 'same', '+': 'came', '-': 'went', '@': 'place' } as const
