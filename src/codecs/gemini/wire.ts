/**
 * The wire of Gemini's `generateContent`: what `systemInstruction` and `contents` of a request may hold. Assignable to the
 * `Content` of `@google/genai` (a type test says so) without depending on it.
 *
 * Source  Gemini API reference, Content, and the types of @google/genai 3.1.0 (2026-11)
 */
export interface GeminiConversation {
  systemInstruction?: GeminiContent
  contents: GeminiContent[]
}

/** What one side says. */
export interface GeminiContent {
  /** Default: `user`. */
  role?: 'user' | 'model'
  parts: GeminiPart[]
}

/** A part of a content: one of its data fields, and what stands beside it. */
export interface GeminiPart {
  text?: string
  /** The text is reasoning. */
  thought?: boolean
  /** The reasoning behind the part, readable by the provider only. */
  thoughtSignature?: string
  inlineData?: GeminiBlob
  fileData?: GeminiFileData
  functionCall?: GeminiFunctionCall
  functionResponse?: GeminiFunctionResponse
}

/** Bytes in base64. */
export interface GeminiBlob {
  data: string
  mimeType: string
  displayName?: string
}

/** A file by its address. */
export interface GeminiFileData {
  fileUri: string
  mimeType?: string
  displayName?: string
}

/** A call of a function. */
export interface GeminiFunctionCall {
  id?: string
  name: string
  args?: { [name: string]: unknown }
}

/** The result of a call. */
export interface GeminiFunctionResponse {
  /** That of the call, if it has one. */
  id?: string
  name: string
  /** `output` is the result, or `error`; else all of it is the result. */
  response: { [name: string]: unknown }
  parts?: { inlineData?: GeminiBlob; fileData?: GeminiFileData }[]
}
