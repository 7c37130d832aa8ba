/**
 * Caches a function's result for short texts, such as words and the names of models. The result must be immutable. A longer text is not
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

const longestText = 64
const mostTexts = 20_000
