/** An agent with a tool that needs an approval, on a model that answers by what it is sent. */
import { Agent, Runner, tool, Usage, type Model, type ModelRequest } from '@openai/agents-core'
import { z } from 'zod'

/** Asks for the tool until its result is there. */
const model: Model = {
  getResponse: async ({ input }: ModelRequest) => {
    const items = typeof input === 'string' ? [] : input
    const removed = items.findLast((item) => item.type === 'function_call_result')
    const isNew = items.at(-1)?.type === undefined || (items.at(-1) as { role?: string }).role === 'user'
    return {
      usage: new Usage(),
      output:
        removed === undefined || isNew
          ? [
              {
                type: 'function_call' as const,
                callId: `call_${items.length}`,
                name: 'remove',
                arguments: '{"path":"a.ts"}',
                status: 'completed' as const,
              },
            ]
          : [
              {
                type: 'message' as const,
                role: 'assistant' as const,
                status: 'completed' as const,
                content: [{ type: 'output_text' as const, text: `Done, after ${items.length} items.` }],
              },
            ],
    }
  },
  getStreamedResponse: () => {
    throw new Error('not asked for')
  },
}

export const approvingAgent = (): Agent =>
  new Agent({
    name: 'cleaner',
    model,
    tools: [
      tool({
        name: 'remove',
        description: 'Remove a file',
        parameters: z.object({ path: z.string() }),
        needsApproval: true,
        execute: ({ path }) => `removed ${path}`,
      }),
    ],
  })

export const runner: Runner = new Runner({ tracingDisabled: true })
