/**
 * Caches a function's result for short texts, such as words. The result must be immutable. A longer text is not
 * cached, and a full cache starts over.
 */
export const memoizeText = <Value>(find: (text: string) => Value): ((text: string) => Value) => {
  const known = new Map<string, Value>()
  return (text) => {
    if (text.length > longestText) return find(text)
    let value = known.get(text)
    if (value === undefined) {
      if (known.size === mostTexts) known.clear()
      known.set(text, (value = find(text)))
    }
    return value
  }
}

const longestText = 32
const mostTexts = 20_000
