/**
 * What the API rejects with HTTP 400. Decoding marks content that breaks a rule, so that it is written again
 * unchanged. Encoding applies the rules to everything else.
 *
 * Source  ai.google.dev, Function calling, Thought signatures; the types of @google/genai 3.1.0; and the API's own
 *         messages: "GenerateContentRequest.contents: contents is not specified", "Please use a valid role: user,
 *         model", "contents[0].parts: contents.parts must not be empty", "contents[0].parts[0].data: required oneof
 *         field 'data' must have one initialized field", "Please ensure that function call turn comes immediately after
 *         a user turn or after a function response turn", "Please ensure that the number of function response parts is
 *         equal to the number of function call parts of the function call turn" (2026-11)
 */

/** "Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores, dots, colons and dashes, with a maximum length of 128" */
export const fitsName = (name: string): boolean => /^[a-zA-Z_][\w.:-]{0,127}$/.test(name)

export const fittingName = (name: string): string => {
  const letters = name.replaceAll(/[^\w.:-]/g, '_')
  return (/^[a-zA-Z_]/.test(letters) ? letters : `_${letters}`).slice(0, 128)
}

/** The placeholder for the signature of another model's call. Source: Thought signatures, FAQ. */
export const noSignature = 'skip_thought_signature_validator'

/** The shortest possible text. */
export const opening = '(start)'
