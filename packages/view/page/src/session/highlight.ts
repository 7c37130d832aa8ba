/** Words that are searched for, marked where they stand: as ranges over the text, so that no element is made for them. */

/** Mark words below an element. Gives a function that takes the marks away. */
export const markWords = (root: Element | null, words: string): (() => void) => {
  const wanted = words.trim().toLowerCase()
  if (root === null || wanted === '' || !('highlights' in CSS)) return () => {}
  const ranges: Range[] = []
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null && ranges.length < 500; node = walker.nextNode()) {
    const text = node.textContent?.toLowerCase() ?? ''
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange()
      range.setStart(node, at)
      range.setEnd(node, at + wanted.length)
      ranges.push(range)
    }
  }
  CSS.highlights.set('found', new Highlight(...ranges))
  return () => void CSS.highlights.delete('found')
}
