/** Page kinds are those that were given or that the message shows, whatever is added to prototypes. */
import { expect, it } from 'vitest'
import { classify, degradationPath, isPageKind, minFidelity } from '../../src/pages/index.ts'
import { codeOf, kindOfCode, pagesOf } from '../../src/pages/internal.ts'
import { changedBy } from '../pollution.ts'

it('nothing that pages does reads a property of a prototype', () => {
  const codes = String.fromCharCode(...(['plan', 'evidence', 'evidence', 'conversation'] as const).map(codeOf))
  const source = { codeAt: (_: unknown, rank: number) => codes.charCodeAt(rank), codesFrom: () => codes.slice(1) }
  const run = (): unknown => {
    const pages = pagesOf(source, undefined, 1, 4)
    return [
      [{}, { role: 'user' }, { content: [{}] }, { content: [{ type: 'tool_result' }] }, { role: 'tool' }].map(classify),
      [{ role: 'system' }, { role: 'developer', content: 'text' }, [], null, 'x'].map(classify),
      [pages.kinds, pages.toArray(), [...pages], pages.at(0), pages.at(3) === undefined, pages.count('evidence')],
      ['plan', 'role', 'toString', undefined].map(isPageKind),
      kindOfCode(codeOf('constraint')),
      [minFidelity('plan'), degradationPath('plan')],
    ]
  }
  expect(changedBy(['role', 'content', 'type', 'meta', 'indelible', 'interrupted', 'kinds', 'evil'], run)).toEqual([])
})
