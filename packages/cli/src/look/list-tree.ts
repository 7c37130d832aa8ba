/** `indelible list --tree`: shows which sessions were forked from which. */
import type { SessionInfo } from 'indelible/session'
import type { Call, Terminal } from '../terminal/command.ts'
import { titleOf } from '@indelible/view/internal'
import { marksIn, marksText, type Marks } from '../sources/session-badges.ts'
import { withStore } from '../sources/place.ts'
import { countText, fitColumns, oneLine } from '../terminal/screen.ts'
import { damagedText, sessionOrAdvice, sessionsIn } from '../sources/sessions.ts'
import type { DamagedEntry } from 'indelible/internal/store'

export const listTree = async (call: Call): Promise<void> => {
  const { positionals, terminal, values } = call
  await withStore(call, {}, async (store) => {
    const named = positionals[0] === undefined ? undefined : await sessionOrAdvice(store, positionals[0], terminal)
    const damaged: DamagedEntry[] = []
    const nodes = forest((await sessionsIn(store, damaged)).toReversed(), await marksIn(store, terminal))
    terminal.tellDamage(damaged.map(damagedText))
    const roots = named === undefined ? nodes.filter(({ forks }) => forks.length > 0) : [rootOf(nodes, named)]
    if (values['json'] === true) return terminal.printJson(roots.flatMap((root) => [...flattenTree(root, 0)]))
    if (roots.length === 0) return terminal.tell(['there are no forks yet; "indelible fork SESSION" creates one'])
    await terminal.print(treeLines(roots, named, terminal))
  })
}

interface Node {
  readonly id: string
  /** Undefined if it was removed; its forks are listed under it. */
  readonly info: SessionInfo | undefined
  readonly marks: Marks
  readonly forks: Node[]
}

/** The sessions that are not forks, each with its forks. */
const forest = (infos: readonly SessionInfo[], marksOf: (info: SessionInfo) => Marks): readonly Node[] => {
  const nodes = new Map<string, Node>(
    infos.map((info) => [info.id, { id: info.id, info, marks: marksOf(info), forks: [] }]),
  )
  const roots: Node[] = []
  for (const info of infos) {
    const node = nodes.get(info.id) as Node
    const { forkedFrom } = info
    if (forkedFrom === undefined) {
      roots.push(node)
      continue
    }
    const origin = nodes.get(forkedFrom.id) ?? { id: forkedFrom.id, info: undefined, marks: {}, forks: [] }
    if (origin.info === undefined && !nodes.has(origin.id)) {
      nodes.set(origin.id, origin)
      roots.push(origin)
    }
    origin.forks.push(node)
  }
  return roots
}

const rootOf = (roots: readonly Node[], id: string): Node =>
  roots.find((root) => [...flattenTree(root, 0)].some((each) => each.id === id)) ?? {
    id,
    info: undefined,
    marks: {},
    forks: [],
  }

interface TreeEntry extends Marks {
  readonly id: string
  readonly depth: number
  readonly parent?: string
  readonly at?: number
  readonly messages?: number
  readonly removed?: true
}

function* flattenTree({ id, info, marks, forks }: Node, depth: number): Generator<TreeEntry> {
  yield {
    id,
    depth,
    ...(info?.forkedFrom && { parent: info.forkedFrom.id, at: info.forkedFrom.at }),
    ...(info === undefined ? { removed: true as const } : { messages: info.len }),
    ...marks,
  }
  for (const fork of forks) yield* flattenTree(fork, depth + 1)
}

function* treeLines(roots: readonly Node[], named: string | undefined, terminal: Terminal): Generator<string> {
  for (const root of roots) yield* nodeLines(root, '', '', named, terminal)
}

function* nodeLines(
  node: Node,
  before: string,
  below: string,
  named: string | undefined,
  terminal: Terminal,
): Generator<string> {
  const { id, info, marks, forks } = node
  const isFork = info?.forkedFrom !== undefined
  const facts =
    info === undefined
      ? 'removed'
      : `${marksText(marks)}${isFork ? `from ${info.forkedFrom.at}, ` : ''}${countText(info.len, 'message')}${isFork ? '' : `  ${oneLine(titleOf(info) ?? '')}`}`.trimEnd()
  const name = oneLine(id)
  yield `${before}${id === named ? terminal.paint('bold', name) : name}  ${fitColumns(facts, Math.max(10, terminal.columns - before.length - name.length - 2))}`
  for (const [index, fork] of forks.entries()) {
    const isLast = index === forks.length - 1
    yield* nodeLines(fork, `${below}${isLast ? '└─ ' : '├─ '}`, `${below}${isLast ? '   ' : '│  '}`, named, terminal)
  }
}
