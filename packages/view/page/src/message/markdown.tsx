/**
 * Markdown as elements. `marked` reads it, and each token becomes an element here: no HTML text is ever made, so none can
 * be smuggled in, and what a record says in HTML is shown as the text that it is. So is a backslash, which may be the
 * author's own and not an escape, and the definition of a link: nothing that a record says is left out.
 */
import type { Token, Tokens } from 'marked'
import type { ComponentChildren, VNode } from 'preact'
import { Code } from './code.tsx'
import { tokensOf } from './markdown-tokens.ts'
import { visibleText } from '../format-text.ts'

export const Markdown = ({ text }: { readonly text: string }): VNode => {
  const tokens = tokensOf(visibleText(text))
  return tokens === undefined ? (
    <Code text={visibleText(text)} label="text" />
  ) : (
    <div class="markdown">{blocks(tokens)}</div>
  )
}

const blocks = (tokens: readonly Token[]): ComponentChildren => tokens.map((token) => block(token))

const block = (token: Token): ComponentChildren => {
  switch (token.type) {
    case 'space':
      return null
    case 'def':
    case 'html':
      return <p class="markup">{token.raw.trim()}</p>
    case 'code':
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} />
    case 'heading': {
      // A record's headings stand below the page's own.
      const { depth, tokens } = token as Tokens.Heading
      return (
        <p dir="auto" class={`heading h${Math.min(depth, 4)}`} role="heading" aria-level={Math.min(depth + 2, 6)}>
          {inlines(tokens)}
        </p>
      )
    }
    case 'hr':
      return <hr />
    case 'blockquote':
      return <blockquote dir="auto">{blocks((token as Tokens.Blockquote).tokens)}</blockquote>
    case 'list': {
      const { ordered, start, items } = token as Tokens.List
      const children = items.map((item) => (
        <li class={item.task ? 'task' : undefined}>
          {item.task ? <input type="checkbox" checked={item.checked === true} disabled aria-label="task" /> : null}
          {blocks(item.tokens)}
        </li>
      ))
      return ordered ? (
        <ol dir="auto" start={typeof start === 'number' ? start : 1}>
          {children}
        </ol>
      ) : (
        <ul dir="auto">{children}</ul>
      )
    }
    case 'table': {
      const { header, rows, align } = token as Tokens.Table
      const cells = (row: readonly Tokens.TableCell[], Cell: 'th' | 'td'): ComponentChildren =>
        row.map((cell, index) => <Cell class={`align-${align[index] ?? 'start'}`}>{inlines(cell.tokens)}</Cell>)
      return (
        <div class="scrolls" tabIndex={0} role="group" aria-label="table">
          <table dir="auto">
            <thead>
              <tr>{cells(header, 'th')}</tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr>{cells(row, 'td')}</tr>
              ))}
            </tbody>
          </table>
        </div>
      )
    }
    case 'paragraph':
      return <p dir="auto">{inlines((token as Tokens.Paragraph).tokens)}</p>
    default:
      return inline(token)
  }
}

const inlines = (tokens: readonly Token[] | undefined): ComponentChildren =>
  (tokens ?? []).map((token) => inline(token))

const inline = (token: Token): ComponentChildren => {
  switch (token.type) {
    case 'strong':
      return <strong>{inlines((token as Tokens.Strong).tokens)}</strong>
    case 'em':
      return <em>{inlines((token as Tokens.Em).tokens)}</em>
    case 'del':
      return <del>{inlines((token as Tokens.Del).tokens)}</del>
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>
    case 'br':
      return (
        <>
          {token.raw.startsWith('\\') ? '\\' : null}
          <br />
        </>
      )
    case 'link': {
      const { href, tokens } = token as Tokens.Link
      return <Link href={href}>{inlines(tokens)}</Link>
    }
    case 'image': {
      // Nothing is loaded from anywhere: an image of the web is a link to it.
      const { href, text } = token as Tokens.Image
      return <Link href={href}>{text === '' ? 'image' : text}</Link>
    }
    case 'checkbox':
      return null
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return tokens === undefined ? text : inlines(tokens)
    }
    default:
      return token.raw
  }
}

/** A link to the web, or the text of one: other schemes (`javascript:` first of all) are no links here. */
export const Link = ({ href, children }: { readonly href: string; readonly children?: ComponentChildren }): VNode =>
  isWeb(href) ? (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
      {children}
    </a>
  ) : (
    <span class="no-link" title={visibleText(href)}>
      {children}
    </span>
  )

const isWeb = (href: string): boolean =>
  /^(?:https?|mailto):/i.test(href) &&
  URL.canParse(href) &&
  ['http:', 'https:', 'mailto:'].includes(new URL(href).protocol)
