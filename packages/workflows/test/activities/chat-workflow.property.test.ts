/** Random interleavings of signals, retries, crashes, lost answers and late duplicates, on a simulated engine. */
import { array, assert, asyncProperty, boolean, constantFrom, integer, oneof, record, type Arbitrary } from 'fast-check'
import { expect, it } from 'vitest'
import { assistant, memoryStore, textOf, toolCall, user, type Message } from 'indelible'
import { hydrate, parseHistoryJson } from '@indelible/workflows/refs'
import { keyValueBlocks, type BlockStore, type Store } from 'indelible/store'
import { historyActivities, type StreamEvent } from '@indelible/workflows/activities'
import { scriptedModel, tool, type Model } from 'indelible/run'
import { ok } from '../../../../test/task-results.ts'
import { keyValueMap } from '../../../../test/store/key-value-map.ts'
import { ends, registryOf, wanted } from './engine.ts'
import { SimulatedEngine } from './simulated-engine.ts'
import { rounds } from '../../../../test/rounds.ts'

type Act =
  | { readonly do: 'say'; readonly tool: boolean }
  | { readonly do: 'run' | 'lose' | 'overload' | 'twice' | 'again'; readonly which: number }
  | { readonly do: 'crash' | 'stop' | 'refuse' }

const act: Arbitrary<Act> = oneof(
  { weight: 3, arbitrary: record({ do: constantFrom('say' as const), tool: constantFrom(true, false) }) },
  {
    weight: 6,
    arbitrary: record({
      do: constantFrom(
        'run' as const,
        'run' as const,
        'lose' as const,
        'overload' as const,
        'twice' as const,
        'again' as const,
      ),
      which: integer({ min: 0, max: 20 }),
    }),
  },
  { weight: 2, arbitrary: record({ do: constantFrom('crash' as const, 'stop' as const, 'refuse' as const) }) },
)

const runs = rounds(15, 2000)

it.each(['a store', 'a key-value store'])(
  'every chat answer is stored once and ends once, and nothing is lost or reordered, on %s',
  async (kind) => {
    await assert(
      asyncProperty(array(act, { minLength: 5, maxLength: 45 }), boolean(), async (acts, cancels) => {
        const store: Store | BlockStore = kind === 'a store' ? memoryStore() : keyValueBlocks(keyValueMap())
        const events: StreamEvent[] = []
        const seen: { readonly texts: readonly string[]; readonly answer: string }[] = []
        let [overloaded, permanent, answers] = [false, false, 0]
        const model: Model = {
          name: 'm',
          stream: async function* (request, signal) {
            if (overloaded || permanent) throw Object.assign(new Error('no'), { status: permanent ? 400 : 529 })
            const texts = Array.from(request.messages, told)
            const last = request.messages.at(-1) as Message
            const name = `answer ${++answers}`
            const calls = last.role === 'user' && textOf(last).includes('tool')
            seen.push({ texts, answer: `assistant ${name}` })
            yield* scriptedModel([
              calls
                ? assistant(name, toolCall(`a${answers}`, 'read', {}), toolCall(`b${answers}`, 'ask', {}))
                : assistant(name),
            ]).stream(request, signal)
          },
        }
        const hosted = historyActivities({
          store,
          registry: registryOf(model),
          events: { publish: (event) => void events.push(event) },
          tools: ['read', 'ask'].map((name) => tool({ name, parameters: {}, run: () => 'found' })),
        })
        const engine = new SimulatedEngine(
          { id: 'w', model: wanted, needsApproval: ({ name }) => name === 'ask' },
          hosted,
          cancels,
        )
        const output: string[] = []
        const approve = async (): Promise<void> => {
          for (const { id } of engine.chat.status().waiting)
            await engine.signal({ type: 'approval', callId: id, allowed: true })
        }
        const one = (which: number): number | undefined => engine.open[which % Math.max(1, engine.open.length)]
        for (const act of acts) {
          const call = 'which' in act ? one(act.which) : undefined
          if (act.do === 'say') {
            const text = `message ${output.length}${act.tool ? ' tool' : ''}`
            const { ref } = await hosted.appendMessage({ action: text, message: user(text) })
            output.push(`user ${text}`)
            await engine.signal({ type: 'message', ref })
          } else if (act.do === 'crash') await engine.crash()
          else if (act.do === 'stop') await engine.signal({ type: 'stop' })
          else if (act.do === 'refuse') {
            for (const { id } of engine.chat.status().waiting)
              await engine.signal({ type: 'approval', callId: id, allowed: false })
          } else if (act.do === 'again') {
            // A late duplicate: an attempt of an activity whose answer is long recorded.
            const late = act.which % Math.max(1, engine.calls.length)
            if (engine.calls.length > 0 && !engine.open.includes(late)) await engine.run(late)
          } else if (call !== undefined) {
            overloaded = act.do === 'overload'
            permanent = act.do === 'overload' && act.which % 5 === 0
            if (act.do === 'twice') await Promise.all([engine.run(call), engine.run(call, true)])
            else await engine.run(call, act.do === 'lose')
            overloaded = permanent = false
          }
          if (act.do === 'run') await approve()
        }
        await engine.signal({ type: 'end' })
        for (let rounds = 0; engine.end === undefined && rounds < 500; rounds++) {
          if (engine.error !== undefined) throw engine.error as Error
          await approve()
          for (const call of engine.open) await engine.run(call)
        }
        if (engine.end === undefined) throw new Error('the workflow does not end')
        await engine.crash() // the whole run replays

        const parsed = parseHistoryJson(engine.end.state.history)
        if (parsed._tag === 'Left' || parsed.right.kind !== 'refs') throw new Error('no refs')
        const record = (await ok(hydrate(store, parsed.right.history))).view().toArray()
        const texts = record.map(told)
        // Nothing that arrived is lost, doubled or reordered.
        expect(texts.filter((text) => text.startsWith('user '))).toEqual(output)
        // What stands before an answer is what the model was sent for it.
        for (const [position, text] of texts.entries()) {
          if (!text.startsWith('assistant ')) continue
          const request = seen.find(({ answer }) => answer === text)
          expect(request?.texts).toEqual(texts.slice(0, position))
        }
        expect(new Set(texts.filter((text) => text.startsWith('assistant '))).size).toBe(
          texts.filter((text) => text.startsWith('assistant ')).length,
        )
        // Each step has one end, and what it says of the answer is in the record.
        const told1 = ends(events).map(({ action }) => action)
        expect(new Set(told1).size).toBe(told1.length)
        const steps = engine.calls.filter(({ name }) => name === 'stream')
        expect(told1.length).toBe(steps.length)
        // Each call has its result, adjacent and once.
        expect(record.filter(({ role }) => role === 'tool').length).toBe(
          record.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_call')).length,
        )
      }),
      { numRuns: runs },
    )
  },
)

const told = (message: Message): string => `${message.role} ${textOf(message)}`
