/** The message model as a valibot schema, as strict as `decodeMessage`. */
import * as v from 'valibot'

const meta = v.optional(v.record(v.string(), v.unknown()))
const source = v.variant('type', [
  v.strictObject({ type: v.literal('url'), url: v.string(), mediaType: v.optional(v.string()) }),
  v.strictObject({ type: v.literal('base64'), data: v.string(), mediaType: v.string() }),
  v.strictObject({
    type: v.literal('block'),
    id: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
    mediaType: v.optional(v.string()),
  }),
])
const text = v.strictObject({ type: v.literal('text'), text: v.string(), meta })
const image = v.strictObject({ type: v.literal('image'), source, meta })
const file = v.strictObject({ type: v.literal('file'), source, name: v.optional(v.string()), meta })
const provider = v.strictObject({ type: v.literal('provider'), provider: v.string(), raw: v.unknown(), meta })
const message = v.strictObject({
  role: v.picklist(['system', 'developer', 'user', 'assistant', 'tool']),
  content: v.array(
    v.variant('type', [
      text,
      image,
      file,
      provider,
      v.strictObject({ type: v.literal('tool_call'), id: v.string(), name: v.string(), arguments: v.string(), meta }),
      v.strictObject({
        type: v.literal('tool_result'),
        callId: v.string(),
        content: v.array(v.variant('type', [text, image, file, provider])),
        name: v.optional(v.string()),
        isError: v.optional(v.boolean()),
        meta,
      }),
      v.strictObject({
        type: v.literal('reasoning'),
        text: v.string(),
        summary: v.optional(v.array(v.string())),
        signature: v.optional(v.string()),
        encrypted: v.optional(v.string()),
        meta,
      }),
      v.strictObject({ type: v.literal('refusal'), text: v.string(), meta }),
    ]),
  ),
  id: v.optional(v.string()),
  name: v.optional(v.string()),
  meta,
})

export const decodeWithValibot = (input: unknown): boolean => v.safeParse(message, input).success
