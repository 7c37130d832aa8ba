/**
 * A stream as lines, for a replay file or a record. Events that differ in a few values are one line: the first event, the number
 * of further ones, and for each value that differs its path with one value for each of them.
 */
import { createParser } from 'eventsource-parser'
import { isLeft, isObject, jsonEqual, parseJson, type Json, type JsonObject } from 'indelible/internal/json'

/**
 * A line: an event's data; a text that is no JSON object, such as `[DONE]`; a run of events; or, for an event whose name
 * is not as usual, that name and the data.
 */
export type EventLine =
  | JsonObject
  | string
  | readonly [first: JsonObject, more: number, columns: JsonObject]
  | readonly [name: string | null, data: JsonObject | string]

/** A stream. */
export interface StreamLines {
  /** Whether each event is named by the `type` of its data. */
  readonly named: boolean
  readonly events: readonly EventLine[]
}

/** An event of a stream: its name, if it has one, and its data. */
export interface StreamEvent {
  readonly name: string | undefined
  readonly data: JsonObject | string
}

/** The events of a stream's text. One that is not complete is left out, as clients do. */
export const eventsOfStream = (text: string): readonly StreamEvent[] => {
  const events: StreamEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push(streamEvent(event, data)) })
  parser.feed(text)
  return events
}

/** An event of a stream, from its fields. */
export const streamEvent = (name: string | undefined, data: string): StreamEvent => {
  const parsed = parseJson(data)
  return { name, data: !isLeft(parsed) && isObject(parsed.right) ? parsed.right : data }
}

/**
 * The lines of a stream. Cost: O(events).
 *
 * @param change changes the data of the events
 */
export const linesOfEvents = (
  events: readonly StreamEvent[],
  change: (data: readonly (JsonObject | string)[]) => readonly (JsonObject | string)[],
): StreamLines => {
  const named = events.some(({ name }) => name !== undefined)
  const changed = change(events.map(({ data }) => data))
  const lines: EventLine[] = []
  let run: JsonObject[] = []
  const flush = (): void => {
    for (const line of linesOfRun(run)) lines.push(line)
    run = []
  }
  for (const [index, { name }] of events.entries()) {
    const data = changed[index] as JsonObject | string
    if (name === nameOf(data, named) && isObject(data)) {
      run.push(data)
      continue
    }
    flush()
    lines.push(name === nameOf(data, named) && typeof data === 'string' ? data : [name ?? null, data])
  }
  flush()
  return { named, events: lines }
}

/** The lines in JSON; undefined if it has none. */
export const streamLinesIn = (value: unknown): StreamLines | undefined => {
  if (!isObject(value)) return undefined
  const { named, events } = value
  return Array.isArray(events) && events.every(isEventLine) ? { named: named === true, events } : undefined
}

/** The events of a stream. */
export const eventsOfLines = ({ named, events }: StreamLines): readonly StreamEvent[] =>
  events.flatMap(eventsOfLine(named))

/** The events as they are sent: the text of each `data:`, and `event:` if it has a name. */
export const wireEventsOf = (lines: StreamLines): readonly { readonly event?: string; readonly data: string }[] =>
  eventsOfLines(lines).map(({ name, data: value }) => {
    const data = typeof value === 'string' ? value : JSON.stringify(value)
    return name === undefined ? { data } : { event: name, data }
  })

/** The event's name as usual: the `type` of its data, in a stream that names its events. */
const nameOf = (data: JsonObject | string, named: boolean): string | undefined => {
  const type = isObject(data) ? data['type'] : undefined
  return named && typeof type === 'string' ? type : undefined
}

/** Whether a value of a file is a line of a stream. */
export const isEventLine = (line: unknown): line is EventLine => {
  if (!Array.isArray(line)) return typeof line === 'string' || isObject(line)
  const [first, second, columns] = line as readonly unknown[]
  if (line.length === 2)
    return (first === null || typeof first === 'string') && (typeof second === 'string' || isObject(second))
  const isCount = Number.isInteger(second) && Number(second) >= 0 && Number(second) < mostEvents
  if (line.length !== 3 || !isObject(first) || !isCount || !isObject(columns)) return false
  return Object.values(columns).every(
    (column) => typeof column === 'number' || (Array.isArray(column) && column.length === second),
  )
}

const eventsOfLine =
  (named: boolean) =>
  (line: EventLine): readonly StreamEvent[] => {
    const usual = (data: JsonObject | string): StreamEvent => ({ name: nameOf(data, named), data })
    if (!isList(line)) return [usual(line)]
    if (line.length === 2) return [{ name: line[0] ?? undefined, data: line[1] }]
    const [first, more, columns] = line
    const events = [usual(first)]
    for (let index = 0; index < more; index++) {
      const data = structuredClone(first)
      for (const [path, column] of Object.entries(columns)) {
        const keys = keysOf(path)
        const value = Array.isArray(column)
          ? column[index]
          : Number(column) * (index + 1) + Number(valueAt(first, keys))
        setValue(data, keys, value as Json)
      }
      events.push(usual(data))
    }
    return events
  }

const isList = (line: EventLine): line is Extract<EventLine, readonly unknown[]> => Array.isArray(line)

/** The most values in which events of a run differ. */
const mostColumns = 4

/** The most events of a run: a line of a few bytes must not fill the memory. */
const mostEvents = 100_000

const linesOfRun = (events: readonly JsonObject[]): readonly EventLine[] => {
  const leaves = events.map(leavesOf)
  const lines: EventLine[] = []
  for (let from = 0; from < events.length;) {
    const first = leaves[from] as Leaves
    const paths = new Set<string>()
    let to = from + 1
    for (; to < events.length && to - from < mostEvents; to++) {
      const differing = differingPaths(first, leaves[to] as Leaves)
      if (differing === undefined || new Set([...paths, ...differing]).size > mostColumns) break
      for (const path of differing) paths.add(path)
    }
    const single = events.slice(from, to)
    const columns = [...paths].map((path): readonly [string, Json] => {
      const values = leaves.slice(from + 1, to).map((leaf) => leaf.get(path) as Json)
      return [path, stepOf(first.get(path) as Json, values) ?? values]
    })
    const run: EventLine = [events[from] as JsonObject, to - from - 1, Object.fromEntries(columns)]
    const isShorter = to > from + 1 && JSON.stringify(run).length < JSON.stringify(single).length
    for (const line of isShorter ? [run] : single) lines.push(line)
    from = to
  }
  return lines
}

/** The constant step of whole numbers; undefined for other values. */
const stepOf = (first: Json, values: readonly Json[]): number | undefined => {
  const step = Number(values[0]) - Number(first)
  return Number.isSafeInteger(step) &&
    [first, ...values].every((value, index) => value === Number(first) + step * index)
    ? step
    : undefined
}

/** The values of an event that have no parts, by their path as a JSON pointer (RFC 6901). */
type Leaves = ReadonlyMap<string, Json>

const leavesOf = (event: JsonObject): Leaves => {
  const leaves = new Map<string, Json>()
  const visit = (value: Json, path: string): void => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length === 0)
      return void leaves.set(path, value)
    if (Array.isArray(value)) leaves.set(`${path} is a list`, true) // tells it from an object with the same keys
    for (const [key, part] of Object.entries(value))
      visit(part as Json, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
  visit(event, '')
  return leaves
}

/** The paths at which two events differ; undefined if their paths differ. */
const differingPaths = (a: Leaves, b: Leaves): readonly string[] | undefined => {
  if (a.size !== b.size) return undefined
  const differing: string[] = []
  const others = b.entries()
  for (const [path, value] of a) {
    const [otherPath, otherValue] = (others.next().value ?? []) as readonly [string, Json]
    if (otherPath !== path) return undefined
    if (jsonEqual(value, otherValue)) continue
    if (typeof value === 'object' || typeof value !== typeof otherValue) return undefined
    differing.push(path)
  }
  return differing
}

const keysOf = (path: string): readonly string[] =>
  path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))

const valueAt = (data: JsonObject, keys: readonly string[]): unknown =>
  keys.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? at[key as keyof typeof at] : undefined,
    data,
  )

/** Replaces a value that is there. */
const setValue = (data: JsonObject, keys: readonly string[], value: Json): void => {
  const parent = valueAt(data, keys.slice(0, -1))
  const key = keys.at(-1) as string
  if (typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key))
    Object.defineProperty(parent, key, { value, writable: true, enumerable: true, configurable: true })
}
