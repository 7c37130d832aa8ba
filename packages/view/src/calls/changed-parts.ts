/** What a request has beside its messages, compared with that of another call. */
import { namedTools, promptText } from '@indelible/recorder/internal'
import { oneLine } from '../texts/format-text.ts'
import { valueText } from './sent-pairs.ts'

/** What a request has beside its messages, in the order in which providers cache it: another model has another cache. */
export const requestFields = ['model', 'tools', 'system', 'parameters'] as const

export type RequestParts = { readonly [name in (typeof requestFields)[number]]?: unknown }

/** A part of a request that is not what the call before had. */
export interface ChangedPart {
  readonly type: 'part'
  readonly name: string
  readonly before: string
  readonly after: string
}

/** Tools of both calls that are not shown. */
export interface UnchangedTools {
  readonly type: 'tools'
  readonly count: number
}

/** The parts of a request that are not what the call before had; of tools, each one that is not. */
export const changedParts = (
  before: RequestParts | undefined,
  after: RequestParts | undefined,
): readonly (ChangedPart | UnchangedTools)[] =>
  requestFields.flatMap((name) => {
    const [old, current] = [before?.[name], after?.[name]]
    const systemPart = name === 'system' ? partOf(name, systemText(old), systemText(current)) : undefined
    // Where a system text says the same, its form differs, such as its cache marks.
    const part =
      systemPart !== undefined && systemPart.before !== systemPart.after
        ? systemPart
        : partOf(name, valueText(old), valueText(current))
    if (part.before === part.after) return []
    const tools = name === 'tools' ? changedTools(namedTools(before?.tools), namedTools(after?.tools)) : []
    return tools.length > 0 ? tools : [part]
  })

const partOf = (name: string, before: string, after: string): ChangedPart => ({ type: 'part', name, before, after })

const systemText = (value: unknown): string => promptText(value) ?? valueText(value)

type NamedTool = ReturnType<typeof namedTools>[number]

/** The tools that differ, each by itself, and how many do not. Empty if the names and definitions are the same. */
const changedTools = (
  old: readonly NamedTool[],
  current: readonly NamedTool[],
): readonly (ChangedPart | UnchangedTools)[] => {
  const [before, after] = [textsByName(old), textsByName(current)]
  const names = [...new Set([...after.keys(), ...before.keys()])]
  const [oldOrder, order] = [
    [...before.keys()].filter((name) => after.has(name)),
    [...after.keys()].filter((name) => before.has(name)),
  ]
  const parts = [
    partOf('order of the tools', oldOrder.join('\n'), order.join('\n')),
    ...names.map((name) => partOf(toolTitle(name), before.get(name) ?? '', after.get(name) ?? '')),
  ].filter((part) => part.before !== part.after)
  const count = names.filter((name) => before.get(name) === after.get(name)).length
  return parts.length === 0 || count === 0 ? parts : [...parts, { type: 'tools', count }]
}

/** The name of a tool, with the word where the name does not say it. */
const toolTitle = (name: string): string => (/^tool/i.test(name) ? '' : 'tool ') + oneLine(name, 80)

/** The definitions of each tool as text. Tools may share a name. */
const textsByName = (tools: readonly NamedTool[]): ReadonlyMap<string, string> => {
  const texts = new Map<string, string>()
  for (const { name, definition } of tools)
    texts.set(name, [...(texts.has(name) ? [texts.get(name)] : []), valueText(definition)].join('\n'))
  return texts
}
