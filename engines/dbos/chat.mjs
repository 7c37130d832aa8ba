/** A chat that survives `kill -9`: `DATABASE_URL=… PORT=3000 node chat.mjs`. */
import { createServer } from 'node:http'
import { DBOS } from '@dbos-inc/dbos-sdk'
import { createChat, eventsInStore, historyActivities, RetryableFailure } from '@indelible/workflows/activities'
import { assistant, user } from 'indelible/message'
import { scriptedModel } from 'indelible/run'
import { postgresStore } from '@indelible/postgres'

const url = process.env.DATABASE_URL
const store = await postgresStore({ connectionString: url, schema: 'chats' })
const events = eventsInStore(store, { topicOf: ({ action }) => action.split('/')[0] })

// A model that needs no key, and takes its time. Yours: openaiResponsesModel(…), anthropicModel(…).
const echo = () =>
  scriptedModel([(request) => assistant(`You said it in ${request.messages.length} messages. `.repeat(8))], {
    pause: 100,
  })
const activities = historyActivities({ store, events, registry: { openai: { apiKey: '', model: echo } } })

const step = (name) => (input) =>
  DBOS.runStep(() => activities[name].call(undefined, input), {
    name,
    retriesAllowed: true,
    maxAttempts: 10,
    shouldRetry: async (error) => {
      if (!(error instanceof RetryableFailure)) return false
      await new Promise((resolve) => setTimeout(resolve, error.retryAfter ?? 0))
      return true
    },
  })

const chat = DBOS.registerWorkflow(
  () => {
    const talk = createChat({ id: DBOS.workflowID, model: { name: 'gpt-x' } })
    const take = async (seconds) => {
      const signal = await DBOS.recv('chat', seconds)
      if (signal !== null) talk.signal(signal)
      return signal !== null
    }
    return talk.run({
      activities: {
        stream: step('stream'),
        runTool: step('runTool'),
        keepRefs: step('keepRefs'),
        endStream: step('endStream'),
      },
      wait: async (ready) => {
        while (!ready()) await take(3600)
      },
      poll: async () => {
        while (await take(0));
      },
    })
  },
  { name: 'chat' },
)

DBOS.setConfig({ name: 'chats', systemDatabaseUrl: url, applicationVersion: '1', logLevel: 'error' })
await DBOS.launch() // continues every chat that was running

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  const [, id, what] = pathname.split('/')
  if (what === 'say') {
    const text = searchParams.get('text')
    const { ref } = await activities.appendMessage({ action: `${id} ${text} ${Date.now()}`, message: user(text) })
    await DBOS.startWorkflow(chat, { workflowID: id })()
    await DBOS.send(id, { type: 'message', ref }, 'chat')
    return response.end('ok\n')
  }
  // Server-sent events: a browser that connects again says which number it has (`Last-Event-ID`).
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const after = Number(request.headers['last-event-id'] ?? -1)
  for await (const { sequence, event } of events.read(id, { after, signal: gone.signal }))
    response.write(`id: ${sequence}\ndata: ${JSON.stringify(event)}\n\n`)
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
