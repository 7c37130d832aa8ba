/**
 * What the API rejects with HTTP 400. Decoding marks content that breaks a rule, so that it is written again
 * unchanged. Encoding applies the rules to everything else.
 *
 * Source  platform.claude.com, Handle tool calls, Mid-conversation system messages, Define tools (2026-11), and the
 *         API's own messages, quoted here
 */

/** "text content blocks must be non-empty", "text content blocks must contain non-whitespace text" */
export const isBlank = (text: string): boolean => !/\S/.test(text)

/** "final assistant content cannot end with trailing whitespace" */
export const endsInSpace = (text: string): boolean => /\s$/.test(text)

/** "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" */
export const idLetters: RegExp = /^[a-zA-Z0-9_-]+$/
export const fitsId = (id: string): boolean => idLetters.test(id)

/** For tool definitions: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'". */
export const fitsName = (name: string): boolean => /^[a-zA-Z0-9_-]{1,128}$/.test(name)

export const fittingName = (name: string): string => name.slice(0, 128).replaceAll(/[^a-zA-Z0-9_-]/g, '_') || '_'

/** "Invalid `signature` in `thinking` block": Anthropic's signatures are base64, other providers' often are not. */
export const isSignature = (signature: string | undefined): signature is string =>
  signature !== undefined && /^[\w+/=-]+$/.test(signature)

/** "image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'" */
export const isImageType = (mediaType: string): boolean => /^image\/(?:jpeg|png|gif|webp)$/.test(mediaType)

/** Whether the API fetches this URL. */
export const isFetched = (url: string): boolean => /^https?:\/\//i.test(url)
