/** A route of `useChat` in a process of its own, whose model says nothing after the tool has finished: `PATH CHAT`. */
import { writeSync } from 'node:fs'
import { chatStore, toUIMessageStream } from '../src/index.ts'
import { assistant, orThrow, toolCall, user } from 'indelible'
import { scriptedModel, tool, turn, type Model } from 'indelible/run'
import { sqliteStore } from 'indelible/store/sqlite'

const [path = '', chatId = ''] = process.argv.slice(2)
const session = await chatStore(await orThrow(sqliteStore({ path }))).openChat(chatId)
const calling = scriptedModel([assistant('I look.', toolCall('c1', 'look', {}))])
const model: Model = {
  name: 'stuck',
  async *stream(request, signal) {
    if ([...request.messages].at(-1)?.role === 'tool') {
      writeSync(1, 'finished')
      await new Promise(() => setInterval(() => undefined, 60_000))
    }
    yield* calling.stream(request, signal)
  },
}
const look = tool({ name: 'look', parameters: {}, run: async () => 'a cat' })
const answer = turn(session, user('What is there?'), { model, tools: [look], id: 'u1', whenBusy: 'wait', ttl: 1000 })
for await (const _ of toUIMessageStream(answer)) continue
