/** Code, highlighted: highlight.js as a tree (lowlight), so that no HTML text is made of it. */
import type { ElementContent, RootContent } from 'hast'
import type { LanguageFn } from 'highlight.js'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import { common, createLowlight } from 'lowlight'
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../elements/controls.tsx'
import { Copy } from '../elements/copy.tsx'
import { memo } from '../memo.ts'
import { sizeText } from '../format-text.ts'

const lowlight = createLowlight({ ...common, dockerfile, shell: common['bash'] as LanguageFn })
lowlight.registerAlias({ bash: ['console'] })

/** The longest text that is highlighted. */
const longest = 30_000
/** What is shown of a long text at first, in characters and lines. */
const [mostShown, mostLines] = [6000, 60]

const treeOf = memo((key: string) => {
  const [language, text] = split(key)
  return lowlight.highlight(language, text).children
}, 300)

const keyOf = (language: string, text: string): string => `${language}\n${text}`
const split = (key: string): readonly [string, string] => {
  const end = key.indexOf('\n')
  return [key.slice(0, end), key.slice(end + 1)]
}

interface CodeProps {
  readonly text: string
  readonly language?: string | undefined
  readonly label?: string
}

/** A text of code, cut where it is long until somebody asks for the rest. */
export const Code = ({ text, language, label = 'code' }: CodeProps): VNode => {
  const [all, setAll] = useState(false)
  const cut = all ? text.length : endOf(text)
  const part = cut < text.length ? text.slice(0, cut) : text
  return (
    <div class="code">
      <Copy text={() => text} what={label} />
      <pre tabIndex={0} role="group" aria-label={label}>
        <code>{highlighted(part, language)}</code>
      </pre>
      {cut < text.length || all ? (
        <Button class="more" onClick={() => setAll(!all)}>
          {all ? 'Show less' : `Show all ${sizeText(text.length)}`}
        </Button>
      ) : null}
    </div>
  )
}

const endOf = (text: string): number => {
  if (text.length > mostShown) {
    const line = text.lastIndexOf('\n', mostShown)
    const end = line > mostShown / 2 ? line : mostShown
    return Math.min(end, linesEnd(text))
  }
  return linesEnd(text)
}

const linesEnd = (text: string): number => {
  let at = -1
  for (let line = 0; line < mostLines; line++) {
    at = text.indexOf('\n', at + 1)
    if (at === -1) return text.length
  }
  return text.length - at < 200 ? text.length : at
}

const highlighted = (text: string, language: string | undefined): ComponentChildren => {
  const name = language?.trim().split(/\s/)[0]?.toLowerCase()
  if (name === undefined || text.length > longest || !lowlight.registered(name)) return text
  return treeOf(keyOf(name, text)).map(element)
}

const element = (node: RootContent | ElementContent): ComponentChildren => {
  if (node.type === 'text') return node.value
  if (node.type !== 'element') return null
  const { className } = node.properties
  return <span class={Array.isArray(className) ? className.join(' ') : undefined}>{node.children.map(element)}</span>
}

/** The language of a file, by its name: the ending is one of the names that its grammar has. */
export const languageOf = (path: string): string | undefined =>
  /dockerfile$/i.test(path) ? 'dockerfile' : /\.(\w+)$/.exec(path)?.[1]
