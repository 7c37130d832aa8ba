/** Detection of history use in Ruby and Python. */
import { describe, expect, it } from 'vitest'
import { detectHistoryUse } from '@indelible/records'

const used = (code: string): string => {
  const { detected, patterns } = detectHistoryUse(code)
  return detected ? patterns.join(' ') || 'read' : 'no'
}

it.each([
  ["context[:conversation_history].select { |r| r[:speaker] == 'user' }", 'filter'],
  ['context[:conversation_history].reject { |r| r[:outcome_summary][:ok] }.map { |r| r[:method_name] }', 'filter map'],
  ['history = context[:conversation_history]\nhistory.last(3)', 'slice last'],
  ['history = context[:conversation_history] || []\nhistory.last', 'last'],
  ['context[:conversation_history].size', 'count'],
  ["context[:conversation_history].count { |r| r[:speaker] == 'tool' }", 'count'],
  ['context[:conversation_history].group_by { |r| r[:method_name] }', 'group'],
  ['context[:conversation_history].find { |r| r[:call_id] == id }', 'find'],
  ['context[:conversation_history].detect { |r| r }', 'find'],
  ['context[:conversation_history].each do |r|\n  puts r\nend', 'iterate'],
  ['context[:conversation_history].sort_by { |r| r[:timestamp] }', 'sort'],
  ['context[:conversation_history].reduce(0) { |s, r| s + 1 }', 'reduce'],
  ['context[:conversation_history].inject(:+)', 'reduce'],
  ['context[:conversation_history].sum { |r| r[:duration_ms] }', 'reduce'],
  ['context[:conversation_history][-1]', 'last'],
  ['context[:conversation_history][-3..]', 'slice'],
  ['context[:conversation_history] << record', 'write'],
  ['context.fetch(:conversation_history, []).map(&:to_s)', 'map'],
  ['context.dig(:conversation_history)&.first', 'find'],
  ['context[:conversation_history].any? { |r| r }', 'find'],
  ['context[:conversation_history].filter_map { |r| r }', 'filter map'],
  ['context[:conversation_history].tally_by { |r| r }', 'group'],
  ['context[:conversation_history].first(2)', 'slice'],
  ['# context[:conversation_history].map', 'no'],
  ["context['conversation_history'].select(&:ok)", 'filter'],
  [
    'past = context[:conversation_history].reject { |r| r[:outcome_summary][:ok] }\npast.map { |r| r[:args] }.uniq.size',
    'filter map count',
  ],
  [
    'context[:conversation_history].group_by do |r|\n  r[:method_name]\nend.map { |name, calls| [name, calls.size] }',
    'group',
  ],
  ['ids.map { |id| context[:conversation_history].find { |r| r[:call_id] == id } }', 'find'],
  ['puts "#{context[:conversation_history].size} calls"', 'count'],
  ['context[:conversation_history] ||= []', 'write'],
  ['rows = context[:rows]\nrows.select { |r| r }', 'no'],
  ["puts 'conversation_history.map { |r| r }'", 'no'],
])('Ruby: %s: %s', (code, expected) => expect(used(code)).toBe(expected))

it.each([
  ["[r for r in context['conversation_history'] if r['speaker'] == 'user']", 'filter'],
  ['[r[\'method_name\'] for r in context["conversation_history"]]', 'map'],
  ["len(context['conversation_history'])", 'count'],
  ["history = context['conversation_history']\nhistory[-1]", 'last'],
  ["history = context.get('conversation_history', [])\nhistory[-3:]", 'slice'],
  ["for r in context['conversation_history']:\n    print(r)", 'iterate'],
  ["sorted(context['conversation_history'], key=lambda r: r['timestamp'])", 'sort'],
  ["list(filter(lambda r: r['ok'], context['conversation_history']))", 'filter'],
  ["list(map(f, context['conversation_history']))", 'map'],
  ["sum(r['duration_ms'] for r in context['conversation_history'])", 'reduce'],
  ["next((r for r in context['conversation_history'] if r['ok']), None)", 'find'],
  ["any(r['ok'] for r in context['conversation_history'])", 'find'],
  ["functools.reduce(f, context['conversation_history'], 0)", 'reduce'],
  ["itertools.groupby(context['conversation_history'], key=f)", 'group'],
  ["Counter(r['speaker'] for r in context['conversation_history'])", 'group'],
  ["context['conversation_history'].append({})", 'write'],
  ["for i, r in enumerate(context['conversation_history']):\n  pass", 'iterate'],
  ["context['conversation_history'][2]", 'find'],
  ["reversed(context['conversation_history'])", 'sort'],
  ["context['conversation_history'] = []", 'write'],
  ["x = 'conversation_history'  # nothing", 'no'],
  ["failed = [r for r in context['conversation_history'] if not r['ok']]\nprint(len(failed))", 'filter count'],
  [
    "by = {}\nfor r in reversed(context['conversation_history']):\n    by.setdefault(r['speaker'], []).append(r)",
    'iterate sort',
  ],
  ["sum(1 for r in context['conversation_history'] if r['ok'])", 'count'],
  ["total = sum(r['cost'] for r in context['conversation_history'] if r['ok'])", 'filter reduce'],
  ["sorted(context['conversation_history'], key=lambda r: r['timestamp'])[-1]", 'sort last'],
  ["'''context['conversation_history'].map'''\nlen(rows)", 'no'],
  ["rows = context['rows']\nfor r in rows:\n    print(len(r))", 'no'],
])('Python: %s: %s', (code, expected) => expect(used(code)).toBe(expected))

describe('the language', () => {
  const code = 'context.conversation_history.select(f)'
  it('is that which the code looks like, or the one given', () => {
    expect(detectHistoryUse(code).patterns).toEqual([])
    expect(detectHistoryUse(code, { language: 'ruby' }).patterns).toEqual(['filter'])
  })
  it('has lines as evidence', () => {
    const { evidence } = detectHistoryUse('def f(context)\n  context[:conversation_history].size\nend')
    expect(evidence).toEqual([{ line: 2, patterns: ['count'], text: 'context[:conversation_history].size' }])
  })
  it('never makes it throw, and takes a bounded time on long lines', () => {
    const long = `x = context[:conversation_history]${'.map { |r| ['.repeat(5000)}`
    expect(detectHistoryUse(long).detected).toBe(true)
    expect(detectHistoryUse(`${'(for x in '.repeat(3000)}context['conversation_history']`).detected).toBe(true)
  })
})
