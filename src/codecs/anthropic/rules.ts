/**
 * What the API refuses with HTTP 400. Reading marks what breaks a rule and stood there all the same, so that it is
 * written again as it stood; writing keeps the rules for everything else.
 *
 * Source  platform.claude.com, Handle tool calls, Mid-conversation system messages, Define tools (2026-11), and the
 *         API's own messages, which are quoted here
 */

/** "text content blocks must be non-empty", "text content blocks must contain non-whitespace text" */
export const isBlank = (text: string): boolean => !/\S/.test(text)

/** "final assistant content cannot end with trailing whitespace" */
export const endsInSpace = (text: string): boolean => /\s$/.test(text)

/** "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" */
export const idLetters: RegExp = /^[a-zA-Z0-9_-]+$/
export const fitsId = (id: string): boolean => idLetters.test(id)

/** Tools are defined under such names: "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'". */
export const fitsName = (name: string): boolean => /^[a-zA-Z0-9_-]{1,128}$/.test(name)

/** The nearest name that fits. */
export const fittingName = (name: string): string => name.slice(0, 128).replaceAll(/[^a-zA-Z0-9_-]/g, '_') || '_'

/** "Invalid `signature` in `thinking` block": Anthropic's are base64; what other providers sign with often is not. */
export const isSignature = (signature: string | undefined): signature is string =>
  signature !== undefined && /^[\w+/=-]+$/.test(signature)

/** "image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'" */
export const isImageType = (mediaType: string): boolean => /^image\/(?:jpeg|png|gif|webp)$/.test(mediaType)

/** A URL that the API fetches. */
export const isFetched = (url: string): boolean => /^https?:\/\//i.test(url)
