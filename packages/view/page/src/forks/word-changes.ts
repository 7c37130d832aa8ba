/** Words in which two elements differ, marked where they stand: as ranges over their texts, so that no element is made for them. */
import { diffWordsWithSpace } from 'diff'

/** Longer texts are not compared: that would take too long. */
const longest = 20_000
/** Texts with more edits are not compared. */
const mostEdits = 1000

/**
 * Mark the words of each element that the other lacks. Texts with little in common are not marked.
 *
 * Cost    O(characters · edits)
 *
 * @returns takes the marks away
 */
export const markChanges = (before: Element | null, after: Element | null): (() => void) => {
  if (before === null || after === null || !('highlights' in CSS)) return () => {}
  const [own, other] = [textNodesIn(before), textNodesIn(after)]
  const went: Range[] = []
  const came: Range[] = []
  if (own.text.length + other.text.length <= longest) {
    const changes = diffWordsWithSpace(own.text, other.text, { maxEditLength: mostEdits }) ?? []
    const same = changes.reduce((sum, { added, removed, value }) => sum + (added || removed ? 0 : value.length), 0)
    let [x, y] = [0, 0]
    if (same * 2 >= Math.min(own.text.length, other.text.length))
      for (const { added, removed, value } of changes) {
        if (removed) addRanges(went, own.nodes, x, x + value.length)
        if (added) addRanges(came, other.nodes, y, y + value.length)
        if (!added) x += value.length
        if (!removed) y += value.length
      }
  }
  const [wentMarks, cameMarks] = [marksNamed('went'), marksNamed('came')]
  for (const range of went) wentMarks.add(range)
  for (const range of came) cameMarks.add(range)
  return () => {
    for (const range of went) wentMarks.delete(range)
    for (const range of came) cameMarks.delete(range)
  }
}

const marksNamed = (name: string): Highlight => {
  const marks = CSS.highlights.get(name) ?? new Highlight()
  CSS.highlights.set(name, marks)
  return marks
}

interface PlacedText {
  readonly node: Text
  /** The place of its first character in the text of all. */
  readonly from: number
}

/** The texts of an element, with a line end between them. */
const textNodesIn = (root: Element): { readonly text: string; readonly nodes: readonly PlacedText[] } => {
  const nodes: PlacedText[] = []
  let text = ''
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node: node as Text, from: text.length })
    text += `${(node as Text).data}\n`
  }
  return { text, nodes }
}

const addRanges = (ranges: Range[], nodes: readonly PlacedText[], from: number, to: number): void => {
  for (const { node, from: start } of nodes) {
    const [first, last] = [Math.max(from, start), Math.min(to, start + node.length)]
    if (first >= last) continue
    const range = document.createRange()
    range.setStart(node, first - start)
    range.setEnd(node, last - start)
    ranges.push(range)
  }
}
