/** Laws of `parseHistoryJson`: it never throws, and it loses nothing in silence. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { parseHistoryJson } from '@indelible/workflows/refs'
import { id } from './saved.ts'
import { Outputs } from '../../../../test/outputs.ts'
import { rounds } from '../../../../test/rounds.ts'

describe('parsing any saved history', () => {
  /** Where a text is to stand. Each gets another one. */
  const text = fc.constant('?')
  const odd = fc.oneof(
    { weight: 6, arbitrary: text },
    fc.constantFrom(null, '', true, 7, [], {}),
    fc.record({ a: text }),
    fc.array(text, { minLength: 1, maxLength: 2 }),
  )
  const some = (...fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, odd]))
  const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { minLength: 1, maxLength: 2 })
  const role = fc.constantFrom('user', 'assistant', 'tool', 'system', 'function')
  const call = fc.oneof(
    fc.record(
      { id: text, name: text, arguments: text, ...some('signature', 'index', 'type') },
      { requiredKeys: ['id', 'name'] },
    ),
    fc.record(
      {
        id: text,
        type: fc.constantFrom('function', 'custom'),
        function: fc.oneof(odd, fc.record({ name: text, arguments: odd })),
        ...some('x'),
      },
      { requiredKeys: ['id', 'type', 'function'] },
    ),
  )
  const calls = fc.oneof({ weight: 4, arbitrary: list(call) }, odd)
  const part = fc.oneof(
    fc.record({ type: fc.constant('text'), text, ...some('cache') }, { requiredKeys: ['type', 'text'] }),
    fc.record({ type: text, ...some('text', 'x') }),
  )
  const content = fc.oneof({ weight: 6, arbitrary: text }, fc.constantFrom('', null), list(part))
  const message = fc
    .record(
      {
        role,
        content,
        toolCalls: calls,
        tool_calls: calls,
        function_call: fc.record({ name: text, arguments: text }),
        ...some(
          'name',
          'toolCallId',
          'tool_call_id',
          'isError',
          'cacheControl',
          'contextType',
          'refusal',
          'reasoning',
          'parts',
          'createdAt',
          'id',
          '__proto__',
        ),
      },
      { requiredKeys: ['role'] },
    )
    .chain((whole) =>
      fc
        .subarray(Object.keys(whole), { maxLength: 5 })
        .map((kept) =>
          Object.fromEntries(
            Object.entries(whole).filter(([field]) => field === 'role' || field === 'content' || kept.includes(field)),
          ),
        ),
    )
  const keys = fc.oneof({ weight: 4, arbitrary: list(text) }, fc.constantFrom(null, [], [id('a')]), odd)
  const ref = fc.record(
    {
      role: fc.constantFrom('user', 'assistant'),
      blockKeys: keys,
      blockIds: keys,
      flowId: text,
      ...some('content', 'x', 'toolCalls'),
    },
    { requiredKeys: ['role', 'blockKeys'] },
  )
  const ours = fc.record(
    { role: fc.constantFrom('user', 'assistant'), blockIds: fc.constant([id('a')]), ...some('content', 'x') },
    { requiredKeys: ['role', 'blockIds'] },
  )
  const plainRef = fc.record(
    {
      role: fc.constantFrom('user', 'assistant'),
      blockKeys: fc.oneof(list(text), fc.constant([id('a')])),
      ...some('x'),
    },
    { requiredKeys: ['role', 'blockKeys'] },
  )
  const refs = fc.oneof(
    fc.array(plainRef, { maxLength: 3 }),
    fc.array(fc.oneof({ weight: 4, arbitrary: ref }, message), { maxLength: 3 }),
    odd,
  )
  const document = fc.oneof(
    fc.array(message, { maxLength: 3 }),
    fc.array(fc.oneof({ weight: 9, arbitrary: message }, ref), { maxLength: 3 }),
    refs,
    fc.record(
      { type: fc.constant('llm2'), refs, flowId: text, workspaceId: text, ...some('messages', 'model') },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constant('indelible.refs'),
        version: fc.constant(1),
        scope: text,
        session: text,
        refs: fc.array(ours, { maxLength: 2 }),
        ...some('messages'),
      },
      { requiredKeys: ['type', 'version', 'scope', 'refs'] },
    ),
  )

  it('never throws', () => {
    const field = fc.constantFrom(
      'type',
      'version',
      'scope',
      'session',
      'refs',
      'role',
      'blockIds',
      'blockKeys',
      'flowId',
      'content',
      'toolCalls',
      'tool_calls',
      'toolCallId',
      'x',
    )
    const some = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom('indelible.refs', 'llm2', 'user', 'tool', 1, 2, null, true, id('a'), 'key', undefined),
        fc.anything(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(field, tie('value'), { maxKeys: 5 }),
      ),
    })).value
    fc.assert(
      fc.property(some, (value) => void parseHistoryJson(value)),
      { numRuns: rounds(200, 2000) },
    )
  })
  it('keeps every value, lists it as a loss, or refuses the history', () => {
    const kinds = new Map<string, number>()
    const outputs = new Outputs()
    fc.assert(
      fc.property(document, fc.boolean(), (shape, asText) => {
        const texts = new Map<string, readonly (string | number)[]>()
        const label = (value: unknown, path: readonly (string | number)[]): unknown => {
          if (value === '?') {
            const name = `text-${texts.size}-`
            texts.set(name, path)
            return name
          }
          if (Array.isArray(value)) return value.map((item, index) => label(item, [...path, index]))
          if (typeof value !== 'object' || value === null) return value
          return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, label(item, [...path, key])]))
        }
        const saved = label(shape, [])
        const parsed = parseHistoryJson(asText ? JSON.stringify(saved) : saved)
        const kind = isLeft(parsed) ? 'refused' : parsed.right.kind
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        outputs.add(isLeft(parsed) ? parsed : parsed.right.losses)
        if (isLeft(parsed)) return
        const { history, losses } = parsed.right
        const output = JSON.stringify([
          parsed.right.kind === 'messages' ? parsed.right.history.view() : parsed.right.history.refs(),
          Object.values(history).filter((value) => typeof value === 'string'),
        ])
        outputs.add(output)
        const starts = (path: readonly (string | number)[], start: readonly (string | number)[]) =>
          start.every((step, index) => path[index] === step)
        for (const [name, path] of texts) {
          if (kind === 'refs' && (path.at(-1) === 'flowId' || path.at(-1) === 'workspaceId')) continue // where keys are that are not needed
          const inner = path[0] === 'refs' ? path.slice(1) : path
          const lost = losses.some((loss) => starts(inner, [loss.position, ...loss.path]) || starts(path, loss.path))
          if (!output.includes(name) && !lost)
            throw new Error(`${name} at ${path.join('.')} is lost from ${JSON.stringify(saved)}: ${output}`)
        }
      }),
      { numRuns: rounds(300, 4000) },
    )
    outputs.expectToBe('d1c53bf88ed8a123')
    for (const kind of ['messages', 'keyed', 'refs', 'refused'])
      expect(kinds.get(kind), kind).toBeGreaterThan(rounds(5, 200))
  })
})
