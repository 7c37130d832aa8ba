/**
 * Workflow DevKit's local world in a process of its own: `node server.ts [RUN_ID]`. It serves the handlers that
 * `workflow build` made, starts a run or goes on with those that were going on, and prints what a run comes to.
 */
import { createServer, type IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { getRun, start } from 'workflow/api'
import { getWorld } from 'workflow/runtime'

type Handler = { readonly POST: (request: Request) => Promise<Response> }

const require = createRequire(import.meta.url)
const handlers = new Map<string, Handler>()

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const server = createServer((request, response) => {
  void (async () => {
    const name = /\/\.well-known\/workflow\/v1\/(flow|step)/.exec(request.url ?? '')?.[1] ?? ''
    const handler = handlers.get(name)
    if (handler === undefined) return void response.writeHead(404).end()
    const headers = Object.entries(request.headers).flatMap(([key, value]) =>
      typeof value === 'string' ? [[key, value] as [string, string]] : [],
    )
    const answer = await handler.POST(
      new Request(`http://localhost${request.url}`, {
        method: request.method ?? 'POST',
        headers,
        body: new Uint8Array(await bodyOf(request)),
      }),
    )
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()))
  })()
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
process.env['WORKFLOW_LOCAL_BASE_URL'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
for (const name of ['flow', 'step']) handlers.set(name, require(`./.well-known/workflow/v1/${name}.js`) as Handler)

const world = await getWorld()
await world.start?.()
const { FROM = '', MODEL = '{}' } = process.env
const [, , runId] = process.argv
const run =
  runId === undefined
    ? await start({ workflowId: 'workflow//./workflows/chat//chat' } as never, [JSON.parse(FROM), JSON.parse(MODEL)])
    : getRun(runId)
process.stdout.write(`${run.runId}\n`)
try {
  process.stdout.write(`${JSON.stringify({ history: await run.returnValue })}\n`)
} catch (error) {
  const { name, message, cause } = error as Error & { readonly cause?: Error }
  process.stdout.write(`${JSON.stringify({ failed: { name, message, cause: cause?.message } })}\n`)
}
process.exit(0)
