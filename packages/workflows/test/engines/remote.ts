/** The worker's side of a control server: a model that says what it is told there, and a tool that waits there. */
import type { Message } from 'indelible/message'
import { scriptedModel, tool, type Model, type Tool } from 'indelible/run'
import type { Reply } from './control.ts'

export const remoteModel = (control: string): Model => ({
  name: 'remote',
  stream: async function* (request, signal) {
    const output = Array.from(request.messages, textsOf)
    const answer = await fetch(`${control}/model`, { method: 'POST', body: JSON.stringify(output), signal })
    if (!answer.ok)
      throw Object.assign(new Error('SECRET text of the provider'), { status: answer.status, headers: answer.headers })
    const { line, hold = false } = (await answer.json()) as Extract<Reply, { line: Message }>
    let events = 0
    for await (const event of scriptedModel([line]).stream(request, signal)) {
      if (++events === 3 && hold) await fetch(`${control}/hold-model`, { method: 'POST', signal })
      yield event
    }
  },
})

/** A tool that answers when the test says so, with the text that it says. */
export const remoteTool = (control: string, name = 'lookup'): Tool =>
  tool({
    name,
    parameters: { type: 'object' },
    run: async (_, { signal }) => (await fetch(`${control}/hold-tool`, { method: 'POST', signal })).text(),
  })

const textsOf = ({ role, content }: Message): string =>
  `${role}: ${content.flatMap((part) => (part.type === 'text' ? [part.text] : [part.type])).join(' ')}`
