/**
 * Caches a function's result for short texts, such as words and the names of models. The result must be immutable. A longer text is not
 * cached, and a full cache starts over.
 */
export const memoizeText = <Value>(find: (text: string) => Value): ((text: string) => Value) => {
  const known = new Map<string, Value>()
  return (text) => {
    if (text.length > longestText) return find(text)
    const value = known.get(text)
    if (value !== undefined || known.has(text)) return value as Value
    if (known.size === mostTexts) known.clear()
    const found = find(text)
    known.set(text, found)
    return found
  }
}

const longestText = 64
const mostTexts = 20_000
