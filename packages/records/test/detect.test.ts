import { describe, expect, it } from 'vitest'
import { detectHistoryUse, type HistoryUse } from '@indelible/records'
import { historyPatterns } from '../src/history-use.ts'

const used = (code: string): string => {
  const { detected, patterns } = detectHistoryUse(code)
  return detected ? patterns.join(' ') || 'read' : 'no'
}

describe('detected history use: patterns', () => {
  it.each([
    ['conversationHistory.filter((r) => r.outcomeSummary.ok)', 'filter'],
    ['context.conversationHistory.map(({ args }) => args)', 'map'],
    ["context['conversationHistory'].flatMap((r) => r.args)", 'map'],
    ['context?.conversationHistory?.length', 'count'],
    ['Object.groupBy(conversationHistory, (r) => r.methodName)', 'group'],
    ['Map.groupBy(context.conversationHistory, (r) => r.speaker)', 'group'],
    ['_.countBy(conversationHistory, "speaker")', 'group'],
    ['conversationHistory.find((r) => r.callId === id)', 'find'],
    ['conversationHistory.some((r) => !r.outcomeSummary.ok)', 'find'],
    ['conversationHistory[3]', 'find'],
    ['conversationHistory[index]', 'find'],
    ['conversationHistory.at(0)', 'find'],
    ['for (const record of conversationHistory) use(record)', 'iterate'],
    ['for (const index in conversationHistory) use(index)', 'iterate'],
    ['conversationHistory.forEach(use)', 'iterate'],
    ['conversationHistory.toSorted((a, b) => a.depth - b.depth)', 'sort'],
    ['_.sortBy(conversationHistory, "timestamp")', 'sort'],
    ['conversationHistory.reduce((sum, r) => sum + r.durationMs, 0)', 'reduce'],
    ['conversationHistory.at(-1)', 'last'],
    ['conversationHistory[conversationHistory.length - 1]', 'count last'],
    ['conversationHistory.findLast((r) => r.outcomeSummary.ok)', 'find last'],
    ['conversationHistory.push({})', 'write'],
    ['conversationHistory.sort()', 'sort write'],
    ['[...conversationHistory].sort()', 'sort'],
    ['conversationHistory.pop()', 'last write'],
    ['context.conversationHistory = []', 'write'],
    ['conversationHistory.length = 0', 'write'],
    ['context.conversationHistory ??= []', 'write'],
    ['Array.prototype.filter.call(conversationHistory, Boolean)', 'filter'],
    ['conversationHistory.view().toArray().filter(Boolean)', 'filter'],
    ['JSON.stringify(conversationHistory)', 'read'],
    ['return context.conversation_history', 'read'],
  ])('%s: %s', (code, expected) => expect(used(code)).toBe(expected))

  it('report every step of a chain in a stable order', () => {
    expect(used('const n = conversationHistory.filter(a).map(b).sort().slice(0, 3).length')).toBe(
      'filter map slice count sort',
    )
  })
  it('do not apply to a single record taken from the history', () => {
    expect(used('conversationHistory.find(f).args.map(g)')).toBe('find')
    expect(used('conversationHistory[0].args.filter(g).length')).toBe('find')
    expect(used('conversationHistory.at(-1)?.args.slice(1)')).toBe('last')
    expect(used('conversationHistory.map((r) => r.args.filter(Boolean))')).toBe('map')
    expect(used('for (const { args } of conversationHistory) args.sort()')).toBe('iterate')
  })
})

describe('detected history use: followed names', () => {
  it.each([
    ['const h = context.conversationHistory; h.filter(f)', 'filter'],
    ['const h = context.conversationHistory ?? []; h.slice(1)', 'slice'],
    ['const { conversationHistory } = context; conversationHistory.map(f)', 'map'],
    ['const { conversationHistory: h = [] } = context; h.map(f)', 'map'],
    ['function run({ conversationHistory }) { return conversationHistory.filter(f) }', 'filter'],
    ['import { conversationHistory } from "runtime"; conversationHistory.filter(f)', 'filter'],
    ['const recent = () => context.conversationHistory.slice(-3); recent().map(f)', 'map slice'],
    ['const copy = Array.from(conversationHistory); copy.sort()', 'sort'],
    ['const copy = [...conversationHistory, extra]; copy.reverse()', 'sort'],
    ['const ids = new Set(conversationHistory); ids.size', 'count'],
    ['class A { run() { const h = this.context.conversationHistory; return h.filter(f) } }', 'filter'],
    ['({ conversationHistory: h } = context); h.filter(f); var h', 'filter'],
  ])('%s: %s', (code, expected) => expect(used(code)).toBe(expected))
})

describe('detected history use: followed values', () => {
  it.each([
    [
      'function Agent(ctx) { this.h = ctx.conversationHistory }\nAgent.prototype.bad = function () { return this.h.filter(f) }\nnew Agent(context).bad()',
      'filter',
    ],
    ['enum K { H = "conversationHistory" } context[K.H].filter(f)', 'filter'],
    ['class A extends B { m() { return super.conversationHistory.map(f) } }', 'map'],
    [
      'class Base { constructor(c) { this.h = c.conversationHistory } } class Sub extends Base { run() { return this.h.filter(f) } } new Sub(context).run()',
      'filter',
    ],
    ['export default async function handler({ context }) { return JSON.stringify(context) }', 'read'],
    ['const { conversationHistory, ...rest } = context; JSON.stringify(rest)', 'read'],
    ['function f({ h } = { h: context.conversationHistory }) { return h.filter(g) } f()', 'filter'],
    ['[1,2].forEach(() => context.conversationHistory.push(1))', 'write'],
    ['const obj = { conversationHistory: context.conversationHistory }; obj.conversationHistory.filter(f)', 'filter'],
    ['const h = Object.freeze([...context.conversationHistory]); h.at(-1)', 'last'],
    ['function visit(i) { if (i < context.conversationHistory.length) visit(i + 1) } visit(0)', 'count'],
    ['const w = new WeakRef(context.conversationHistory); w.deref().filter(f)', 'read'],
    ['(function (conversationHistory) { return conversationHistory.map(f) })(["x"])', 'no'],
    ['const o = { conversationHistory() { return 1 } }; o.conversationHistory()', 'no'],
    ['import { settings } from "./s"; const conversationHistory = settings.max; conversationHistory.length', 'no'],
    ['const { conversationHistory } = { conversationHistory: [1] }; conversationHistory.map(f)', 'no'],
    ['for (const conversationHistory of ["a", "b"]) conversationHistory.slice(1)', 'no'],
    ['try { f() } catch (conversationHistory) { conversationHistory.map(g) }', 'no'],
    ['const f = (conversationHistory = []) => conversationHistory.length; f()', 'no'],
    ['const a = { b: { conversationHistory: 3 } }; a.b.conversationHistory.toFixed()', 'no'],
    ['const ctx = canvas.getContext("2d"); JSON.stringify(ctx)', 'no'],
    ['let of = (conversationHistory) => conversationHistory.length; let y = of(rows)', 'no'],
    ['function* g() { yield* context.conversationHistory } for (const r of g()) use(r)', 'iterate'],
    [
      'const grouped = Map.groupBy(context.conversationHistory.values(), (r) => r.speaker); grouped.get("user").length',
      'group iterate',
    ],
    [
      'const h = context.conversationHistory; h.reduce((acc, r) => { acc[r.methodName] ??= []; acc[r.methodName].push(r); return acc }, {})',
      'reduce',
    ],
    ['const out = []; for (const r of context.conversationHistory) out.push(r); out.sort(); out.length', 'iterate'],
  ])('%s: %s', (code, expected) => expect(used(code)).toBe(expected))
  it('include the name given to an object that has the history', () => {
    expect(detectHistoryUse('JSON.stringify(state)', { holders: ['state'] }).detected).toBe(true)
    expect(detectHistoryUse('JSON.stringify(context)', { holders: ['state'] }).detected).toBe(false)
  })
})

describe('detected history use: TypeScript and JSX', () => {
  it.each([
    ['const h = context.conversationHistory as CallRecord[]; h.filter((r): boolean => r.outcomeSummary.ok)', 'filter'],
    ['(<any>context).conversationHistory!.map((r: any) => r.args)', 'map'],
    ['declare const conversationHistory: CallRecord[]; conversationHistory.filter(f)', 'filter'],
    ['type History = typeof conversationHistory; interface X { conversationHistory: CallRecord[] }', 'no'],
    ['enum Size { All = conversationHistory.length }', 'count'],
    ['namespace N { export const n = conversationHistory.map(f) }', 'map'],
    [
      '@tool() class A { constructor(private readonly conversationHistory: CallRecord[]) { super() } run() { return this.conversationHistory.filter(f) } }',
      'filter',
    ],
    [
      'class A extends B { constructor(private readonly conversationHistory: CallRecord[]) { super(); conversationHistory.filter(f) } }',
      'filter',
    ],
    ['const view = <ul>{conversationHistory.map((r) => <li>{r.methodName}</li>)}</ul>', 'map'],
    ['using h = open(context.conversationHistory); for await (const r of h) use(r)', 'read'],
    ['const first = conversationHistory.filter<Ok>(isOk)', 'filter'],
  ])('%s: %s', (code, expected) => expect(used(code)).toBe(expected))
})

describe('not a use of the history', () => {
  it.each([
    '// conversationHistory.filter(f)',
    '/* conversationHistory */ items.filter(f)',
    '"conversationHistory.map(f)"',
    '`conversationHistory.map(f)`',
    '/conversationHistory/.test(text)',
    'const options = { conversationHistory: [] }',
    'const conversationHistory = [1, 2]; conversationHistory.map(f)',
    'function conversationHistory() {} conversationHistory()',
    'function f() { if (x) { var conversationHistory = [] } return conversationHistory.map(g) }',
    'history.filter(f); myConversationHistory.map(f); conversationHistory2.map(f)',
    'items.filter(f).map(g).slice(1)',
    'class A { conversationHistory() {} }',
    '',
  ])('%s', (code) => expect(used(code)).toBe('no'))
  it('methods of other lists', () => {
    expect(used('const h = conversationHistory; rows.filter(f); seen.includes(h); out.push(...h); log(h)')).toBe('read')
    expect(used('function f(list) { return list.filter(g) } f(rows); f2(conversationHistory)')).toBe('read')
    expect(used('{ const h = conversationHistory; use(h) } { const h = rows; h.filter(f) }')).toBe('read')
  })
})

describe('detected history use: text that is not a program', () => {
  it.each([
    ['const ok = context.conversationHistory.filter(r => r.ok', 'filter'],
    ['for (const r of context.conversationHistory) {{{', 'iterate'],
    ["x = context['conversationHistory'].map(f).length }", 'map count'],
    ['const h = context.conversationHistory;\nh.filter(f).at(-1) }', 'filter last'],
    ['conversationHistory[conversationHistory.length - 1] }', 'count last'],
    ['`${conversationHistory.map(f)}` }', 'map'],
    ['// conversationHistory.filter(f)\n"conversationHistory" }', 'no'],
    ['{ conversationHistory: [] } }', 'no'],
    ['conversationHistory.push(1) }', 'write'],
    ['items.filter(f) }', 'no'],
    ['for i in range(3): # conversationHistory', 'no'],
    ['#!/bin/sh\n# conversationHistory.map(f), it said\necho "hi', 'no'],
    ['x = 1 -- conversationHistory[1]\nlocal y = {', 'no'],
    ['; conversationHistory.map(f)\n(define x', 'no'],
  ])('%s: %s', (code, expected) => expect(used(code)).toBe(expected))
  it('is handled at any depth, length and oddness', () => {
    for (const code of [
      '('.repeat(200_000),
      `${'['.repeat(50_000)}conversationHistory.map(f)${']'.repeat(50_000)}`,
      '"'.repeat(10_001),
      '/*',
      '`${',
      'a.'.repeat(100_000),
      '\ud800',
      '\0',
      'conversationHistory.',
    ])
      expect(() => detectHistoryUse(code)).not.toThrow()
    expect(used(`${'['.repeat(50_000)}conversationHistory.map(f)${']'.repeat(50_000)}`)).toBe('map')
    expect(used(`x = ${'a + '.repeat(20_000)}conversationHistory.length`)).toMatch(/count/)
  })
})

describe('detected history use: the result', () => {
  const code = [
    'const rows = context.conversationHistory // all of them',
    '',
    '  const bad = rows.filter((r) => !r.outcomeSummary.ok).map((r) => r.errorType)',
    `return bad.length${' '.repeat(200)}`,
  ].join('\r\n')
  it('names lines', () => {
    const use: HistoryUse = detectHistoryUse(code)
    expect(use).toEqual({
      detected: true,
      patterns: ['filter', 'map', 'count'],
      evidence: [
        { line: 1, patterns: [], text: 'const rows = context.conversationHistory // all of them' },
        {
          line: 3,
          patterns: ['filter', 'map'],
          text: 'const bad = rows.filter((r) => !r.outcomeSummary.ok).map((r) => r.errorType)',
        },
        { line: 4, patterns: ['count'], text: 'return bad.length' },
      ],
    })
    const all = [use, use.patterns, use.evidence, ...use.evidence.flatMap((one) => [one, one.patterns])]
    expect(all.every(Object.isFrozen)).toBe(true)
  })
  it('is bounded', () => {
    const many = detectHistoryUse(`x(${'y'.repeat(500)}, conversationHistory)\n`.repeat(200))
    expect(many.evidence.length).toBe(50)
    expect(many.evidence[0]?.text.length).toBe(160)
  })
  it('looks for other names if given', () => {
    expect(detectHistoryUse('history.map(f); conversationHistory.filter(f)', { names: ['history'] }).patterns).toEqual([
      'map',
    ])
  })
  it('has stable tags', () => {
    expect(historyPatterns).toEqual([
      'filter',
      'map',
      'slice',
      'count',
      'group',
      'find',
      'iterate',
      'sort',
      'reduce',
      'last',
      'write',
    ])
  })
})
