/** The server as an extension of pi, which has tools of extensions but no MCP. Source: pi 0.87.1, docs/extensions.md */
import { instructions, tools } from './tools.ts'

/** The text of the extension: each session of pi starts the server at its first call. */
export const piExtension = (argv: readonly string[]): string => `// indelible mcp
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [command, ...args] = ${JSON.stringify(argv)}
const tools = ${JSON.stringify(tools.map(({ definition: { name, description, inputSchema } }) => ({ name, description, inputSchema })))}

export default (pi) => {
  let server
  let last = 0
  const waiting = new Map()
  const request = (method, params) =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject })
      server.stdin.write(JSON.stringify({ jsonrpc: '2.0', id: last, method, params }) + '\\n')
    })
  const start = async (cwd) => {
    const own = (server = spawn(command, args, { cwd, stdio: ['pipe', 'pipe', 'ignore'] }))
    const end = () => {
      if (server === own) server = undefined
      for (const { reject } of waiting.values()) reject(new Error('indelible mcp ended'))
      waiting.clear()
    }
    own.on('error', end)
    own.on('close', end)
    own.stdin.on('error', () => {})
    createInterface({ input: own.stdout }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line)
      const { resolve, reject } = waiting.get(id) ?? {}
      waiting.delete(id)
      if (error) reject?.(new Error(error.message))
      else resolve?.(result)
    })
    await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'pi', version: '1' } })
  }
  for (const { name, description, inputSchema } of tools)
    pi.registerTool({
      name: 'indelible_' + name,
      label: 'indelible ' + name,
      description,
      parameters: inputSchema,
      ...(name === 'search' && { promptGuidelines: [${JSON.stringify(instructions.replace('`search`', '`indelible_search`'))}] }),
      async execute(_id, params, _signal, _update, ctx) {
        if (server === undefined) await start(ctx.cwd)
        const { content, isError } = await request('tools/call', { name, arguments: params })
        if (isError) throw new Error(content[0].text)
        return { content, details: {} }
      },
    })
  pi.on('session_shutdown', () => server?.stdin.end())
}
`
