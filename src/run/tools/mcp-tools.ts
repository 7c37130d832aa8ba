/** Tools of a server of the Model Context Protocol, through a client of the official SDK that you connect. */
import { describe, isObject, optionsOf, present, type JsonObject } from '../../json/index.ts'
import { tool, type Tool } from './tool.ts'

/** The part of the SDK's `Client` that is used. */
export interface McpClient {
  /** Lists a page of the server's tools. */
  readonly listTools: (params?: { readonly cursor?: string }) => Promise<{
    readonly tools: readonly McpTool[]
    readonly nextCursor?: string | undefined
  }>
  /** Calls a tool. The second parameter differs between versions of the SDK, which a method's type allows. */
  callTool(
    call: { readonly name: string; readonly arguments?: { [name: string]: unknown } },
    ...rest: unknown[]
  ): Promise<unknown>
}

/** A tool as a server describes it. */
interface McpTool {
  /** The name. */
  readonly name: string
  /** The text from which the model decides when to call it. */
  readonly description?: string | undefined
  /** JSON Schema of its arguments. */
  readonly inputSchema: object
  /** The server's hints. */
  readonly annotations?:
    | { readonly idempotentHint?: boolean | undefined; readonly readOnlyHint?: boolean | undefined }
    | undefined
}

/** How to make the tools of a server. */
interface McpToolOptions {
  /** The prefix of their names, so that two servers can have tools of the same name. Default: none. */
  readonly prefix?: string
  /** Whether the calls of a tool wait for approval, by the server's own name of it. Default: none do. */
  readonly needsApproval?: boolean | ((name: string) => boolean)
  /** Milliseconds after which a call fails. Default: the limits of the run. */
  readonly timeout?: number
}

/**
 * The tools of a connected client, for `run` and `turn`. Results keep their texts, images, audio and resources, and an
 * error of the server stays an error. An interrupt aborts the call.
 *
 * The hints of a server are not trusted to skip an approval. A tool with `idempotentHint` or `readOnlyHint` counts as
 * `idempotent`, so `resume` with `retry` may run it again.
 *
 * Cost    one request for each page of the list
 *
 * @param client a client of `@modelcontextprotocol/client`, or of version 1 of `@modelcontextprotocol/sdk`
 * @param options names, approvals and time limit
 * @returns the tools, in the server's order
 * @throws TypeError if it is not a client; what the client throws
 * @example
 * const tools = await mcpTools(client, { needsApproval: (name) => name !== 'search' })
 */
export const mcpTools = async (client: McpClient, options: McpToolOptions = {}): Promise<readonly Tool[]> => {
  const {
    prefix = '',
    needsApproval = false,
    timeout,
  } = optionsOf('mcpTools', options, {
    prefix: true,
    needsApproval: true,
    timeout: true,
  })
  if (typeof client?.listTools !== 'function' || typeof client.callTool !== 'function')
    throw new TypeError(`mcpTools takes a connected client of the MCP SDK, found ${describe(client)}`)
  const listed: McpTool[] = []
  const cursors = new Set<string>()
  for (let cursor: string | undefined; ;) {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor })
    listed.push(...page.tools)
    cursor = page.nextCursor
    if (cursor === undefined || cursors.has(cursor)) break // a server that repeats a cursor has no more pages
    cursors.add(cursor)
  }
  return Object.freeze(
    listed.map(({ name, description, inputSchema, annotations }) =>
      tool({
        name: `${prefix}${name}`,
        ...present({ description, timeout }),
        parameters: inputSchema as JsonObject,
        needsApproval: typeof needsApproval === 'function' ? needsApproval(name) : needsApproval,
        idempotent: annotations?.idempotentHint === true || annotations?.readOnlyHint === true,
        run: (input, { signal }) => {
          const call = { name, arguments: isObject(input) ? input : {} }
          // Version 1 has the schema of the result as its second parameter.
          return client.callTool.length > 1
            ? client.callTool(call, { signal })
            : client.callTool(call, undefined, { signal })
        },
      }),
    ),
  )
}
