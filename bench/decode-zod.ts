/** The message model as a zod schema, as strict as `decodeMessage`. */
import { z } from 'zod'

const meta = z.record(z.string(), z.unknown()).optional()
const source = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('url'), url: z.string(), mediaType: z.string().optional() }),
  z.strictObject({ type: z.literal('base64'), data: z.string(), mediaType: z.string() }),
  z.strictObject({
    type: z.literal('block'),
    id: z.string().regex(/^[0-9a-f]{64}$/),
    mediaType: z.string().optional(),
  }),
])
const text = z.strictObject({ type: z.literal('text'), text: z.string(), meta })
const image = z.strictObject({ type: z.literal('image'), source, meta })
const file = z.strictObject({ type: z.literal('file'), source, name: z.string().optional(), meta })
const provider = z.strictObject({ type: z.literal('provider'), provider: z.string(), raw: z.unknown(), meta })
const message = z.strictObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.array(
    z.discriminatedUnion('type', [
      text,
      image,
      file,
      provider,
      z.strictObject({ type: z.literal('tool_call'), id: z.string(), name: z.string(), arguments: z.string(), meta }),
      z.strictObject({
        type: z.literal('tool_result'),
        callId: z.string(),
        content: z.array(z.discriminatedUnion('type', [text, image, file, provider])),
        name: z.string().optional(),
        isError: z.boolean().optional(),
        meta,
      }),
      z.strictObject({
        type: z.literal('reasoning'),
        text: z.string(),
        summary: z.array(z.string()).optional(),
        signature: z.string().optional(),
        encrypted: z.string().optional(),
        meta,
      }),
      z.strictObject({ type: z.literal('refusal'), text: z.string(), meta }),
    ]),
  ),
  id: z.string().optional(),
  name: z.string().optional(),
  meta,
})

export const decodeWithZod = (input: unknown): boolean => message.safeParse(input).success
