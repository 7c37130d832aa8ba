/** The names of the options of `deriveContext`. */

/** For `optionsOf`: each name once. */
export const deriveOptions = {
  budget: true,
  policy: true,
  notes: true,
  tools: true,
  model: true,
  toolTokens: true,
  systemTokens: true,
  estimate: true,
  tokenizer: true,
  prices: true,
  previous: true,
  state: true,
} as const
