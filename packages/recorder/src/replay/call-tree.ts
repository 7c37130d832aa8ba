/** Recorded calls by their messages: a tree in which calls with the same beginning share it. */
import type { RecordedCall } from './recorded-calls.ts'
import { otherSetting, settingNames, type Settings } from './matching.ts'
import type { WorkFolder } from './work-folder.ts'

/** A recorded call, and what became of it. */
export interface ReplayCall extends RecordedCall {
  readonly settings: Settings
  readonly folder: WorkFolder | undefined
  /** Whether a request was answered with it. */
  isAsked: boolean
}

/** Equal calls, in the order in which they were sent. */
interface EqualCalls {
  readonly settings: Settings
  readonly calls: ReplayCall[]
  /** The number of requests that had one of them. */
  count: number
}

/** The calls with the same messages, and those with more. */
export class CallNode {
  readonly children: Map<string, CallNode> = new Map()
  readonly equal: EqualCalls[] = []
}

/** The result of a look-up. */
export type Found =
  | { readonly _tag: 'Found'; readonly call: ReplayCall; readonly node: CallNode }
  /** The same request was asked more often than it was recorded. */
  | { readonly _tag: 'AskedAgain'; readonly calls: readonly ReplayCall[]; readonly count: number }
  | {
      readonly _tag: 'NotFound'
      readonly nearest: ReplayCall | undefined
      /** Set if all messages are equal: the setting that differs. */
      readonly setting: (typeof settingNames)[number] | undefined
    }

/** A tree of calls. Cost: O(messages that no earlier call has), for adding and for a look-up O(messages). */
export class CallTree {
  readonly root: CallNode = new CallNode()

  /** Add a call. @returns the nodes after each of its messages, the root first */
  add(call: ReplayCall, identities: readonly string[], from: CallNode = this.root): CallNode {
    const node = this.walk(from, identities, true).node
    const key = keyOf(call.settings)
    const same = node.equal.find(({ settings }) => keyOf(settings) === key)
    if (same === undefined) node.equal.push({ settings: call.settings, calls: [call], count: 0 })
    else same.calls.push(call)
    return node
  }

  /** Follow messages from a node as far as calls have them, or make the way. */
  walk(
    from: CallNode,
    identities: readonly string[],
    makes = false,
  ): { readonly node: CallNode; readonly len: number } {
    let node = from
    for (const [len, identity] of identities.entries()) {
      let next = node.children.get(identity)
      if (next === undefined) {
        if (!makes) return { node, len }
        node.children.set(identity, (next = new CallNode()))
      }
      node = next
    }
    return { node, len: identities.length }
  }

  /** The next recorded call that is equal to a request. */
  take(settings: Settings, identities: readonly string[], from: CallNode = this.root): Found {
    const { node, len } = this.walk(from, identities)
    if (len < identities.length) return { _tag: 'NotFound', nearest: nearestOf(node), setting: undefined }
    const equal = node.equal.filter((calls) => otherSetting(calls.settings, settings) === undefined)
    for (const calls of equal) {
      const call = calls.calls[calls.count]
      if (call === undefined) continue
      calls.count++
      call.isAsked = true
      return { _tag: 'Found', call, node }
    }
    const [first] = equal
    if (first !== undefined) {
      first.count++
      return { _tag: 'AskedAgain', calls: first.calls, count: first.count }
    }
    const [other] = node.equal
    return {
      _tag: 'NotFound',
      nearest: other?.calls.find(({ isAsked }) => !isAsked) ?? other?.calls[0] ?? nearestOf(node),
      setting: other && otherSetting(other.settings, settings),
    }
  }
}

const keyOf = (settings: Settings): string => JSON.stringify(settingNames.map((name) => settings[name] ?? null))

/** The most nodes to look at for the nearest call. */
const mostNodes = 10_000

/** A call below a node, one that was not asked if there is one. */
const nearestOf = (from: CallNode): ReplayCall | undefined => {
  let previous: ReplayCall | undefined
  const open = [from]
  for (const node of open) {
    for (const { calls } of node.equal) {
      const free = calls.find(({ isAsked }) => !isAsked)
      if (free !== undefined) return free
      previous ??= calls[0]
    }
    if (open.length < mostNodes) open.push(...node.children.values())
  }
  return previous
}
