/** An agent in small: it tells its model the folder and the day, and executes calls of its one tool, which writes a file. */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const base = process.env['OPENAI_BASE_URL'] as string
const tools = [{ type: 'function', function: { name: 'write', parameters: { type: 'object', properties: {} } } }]

interface Answer {
  readonly content: string
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[]
}

const system = `You work in the working directory: ${process.cwd()}\nToday is ${process.env['TODAY'] ?? '2026-01-02'}.`
const messages: unknown[] = [{ role: 'system', content: system }]
for (const question of process.argv.slice(2)) {
  messages.push({ role: 'user', content: question })
  for (;;) {
    const response = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer secret-key' },
      body: JSON.stringify({ model: 'gpt-x', messages, tools }),
    })
    if (!response.ok) {
      process.stderr.write(`the agent got ${response.status}\n`)
      await new Promise((resolve) => setTimeout(resolve, Number(process.env['LINGERS'] ?? 0)))
      process.exit(9)
    }
    const { choices } = (await response.json()) as { readonly choices: readonly { readonly message: Answer }[] }
    const { message } = choices[0] as { readonly message: Answer }
    messages.push(message)
    if (message.tool_calls === undefined) break
    for (const { id, function: called } of message.tool_calls) {
      const { path, text } = JSON.parse(called.arguments) as { readonly path: string; readonly text: string }
      writeFileSync(resolve(path), text)
      messages.push({ role: 'tool', tool_call_id: id, content: `wrote ${path}` })
    }
  }
}
process.stdout.write(`${JSON.stringify(messages.at(-1))}\n`)
