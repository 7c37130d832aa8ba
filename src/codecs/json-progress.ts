/** Follows JSON text that arrives in pieces, without parsing it again for each piece. */

/** How far the text of a JSON value has come. */
export class JsonProgress {
  #depth = 0
  #inString = false
  #escaped = false
  #blank = true

  /** Adds a piece. Cost: O(piece). */
  add(piece: string): void {
    for (const sign of piece) {
      if (this.#escaped) this.#escaped = false
      else if (this.#inString) {
        if (sign === '\\') this.#escaped = true
        else if (sign === '"') this.#inString = false
      } else if (sign === '"') this.#inString = true
      else if (sign === '{' || sign === '[') this.#depth++
      else if (sign === '}' || sign === ']') this.#depth--
      if (this.#blank && sign.trim() !== '') this.#blank = false
    }
  }

  /** `empty`: only white space so far. `open`: more must follow. `complete`: a whole value, or something else. */
  get state(): 'empty' | 'open' | 'complete' {
    if (this.#blank) return 'empty'
    return this.#depth > 0 || this.#inString ? 'open' : 'complete'
  }
}
