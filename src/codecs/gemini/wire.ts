/**
 * The wire types of Gemini's `generateContent`: `systemInstruction` and `contents` of a request.
 * Assignable to the `Content` of `@google/genai` (checked by a type test) without depending on it.
 *
 * Source  Gemini API reference, Content, and the types of @google/genai 3.1.0 (2026-11)
 */
export interface GeminiConversation {
  systemInstruction?: GeminiContent
  contents: GeminiContent[]
}

/** A turn of the user or the model. */
interface GeminiContent {
  /** Default: `user`. */
  role?: 'user' | 'model'
  parts: GeminiPart[]
}

/** A part of a content: one data field and optional fields. */
interface GeminiPart {
  text?: string
  /** Whether the text is reasoning. */
  thought?: boolean
  /** The reasoning behind the part, which only the provider can read. */
  thoughtSignature?: string
  inlineData?: GeminiBlob
  fileData?: GeminiFileData
  functionCall?: GeminiFunctionCall
  functionResponse?: GeminiFunctionResponse
}

/** Bytes in base64. */
interface GeminiBlob {
  data: string
  mimeType: string
  displayName?: string
}

/** A file by URI. */
interface GeminiFileData {
  fileUri: string
  mimeType?: string
  displayName?: string
}

/** A function call. */
interface GeminiFunctionCall {
  id?: string
  name: string
  args?: { [name: string]: unknown }
}

/** A call's result. */
interface GeminiFunctionResponse {
  /** The call's id, if it has one. */
  id?: string
  name: string
  /** The result is in `output` or `error`; without them, the whole object is the result. */
  response: { [name: string]: unknown }
  parts?: { inlineData?: GeminiBlob; fileData?: GeminiFileData }[]
}
