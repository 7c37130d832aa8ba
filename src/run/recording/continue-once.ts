/** Lets a run without a session continue an open step only once. With a session, its lease and its journal do. */
import { left } from '../../json/index.ts'
import { RecentMap } from '../../sequence/index.ts'
import type { RunEvent } from '../event.ts'
import type { RunHandler } from '../handler.ts'
import type { OpenAnswer } from '../open-answer.ts'

/** The latest steps that runs of this process continue or have continued. */
const continued = new RecentMap<string, true>(100_000)

/** A handler that refuses to begin a run that continues a step a second time. A step that no run worked on is free. */
export const continueOnce = ({ viewDigest, calls, results }: OpenAnswer): RunHandler => {
  const key = [viewDigest, ...calls.map(({ approval }) => approval), ...results.map(({ callId }) => callId)].join(' ')
  let isUsed = false
  return Object.assign(
    ({ type }: RunEvent) =>
      void (isUsed ||= type === 'tool_result' || type === 'history_delta' || type === 'tool_call_start'),
    {
      begin: () => {
        if (continued.has(key))
          return left(new Error('another run of this process has continued the step of `open`, and its calls run once'))
        continued.set(key, true)
        return undefined
      },
      end: () => isUsed || continued.delete(key),
    },
  )
}
