/** `resume`: continues a session after a run died or ended for approval. */
import { optionsOf, type OptionNames } from '../json/index.ts'
import type { Session } from '../session/index.ts'
import { defaultTtl } from '../session/internal.ts'
import type { TurnFault } from './fault.ts'
import type { RunStream } from './launch.ts'
import { choice } from '../task/index.ts'
import { decisionsOf, type Decisions } from './open-answer.ts'
import { sessionRunOptionNames, runSettings, type SessionRunOptions } from './turn.ts'
import { takeTurn } from './turns/turn-taking.ts'

/** Options for continuing a session. */
export interface ResumeOptions extends SessionRunOptions, Decisions {
  /**
   * What to do if another run holds the session. `fail`: with `SessionBusy`. `wait`: until it is free. `takeOver`:
   * wait until a dead process's lease expires, and fail if it is renewed. Default: `takeOver`.
   */
  readonly whenBusy?: 'fail' | 'wait' | 'takeOver'
}

/**
 * Continues a session from its record. Recorded results are used, calls that were not started are
 * run, and `unfinished` decides what happens to calls that were started but never finished. A
 * truncated answer is recorded as such, and the model is called again. If nothing is pending,
 * `resume` does nothing and ends with `end_turn` and the last answer; as `cancelled`, if the last input was cancelled.
 *
 * After a run that ended with `approval`, pass `approve`, `deny` and `results`, even days later and in another
 * process. It ends with `approval` again while any waiting call is undecided.
 *
 * @param input the model, the tools, the decisions
 * @throws TypeError if an option is invalid, or a decision is not a call's token
 * @example
 * await resume(session, { model, tools: [deploy], approve: [asked.open.calls[0].approval] }).result()
 */
export const resume = (session: Session, input: ResumeOptions): RunStream<TurnFault> => {
  const options = optionsOf('resume', input, optionNames)
  const { whenBusy = 'takeOver' } = options
  choice('resume: whenBusy', whenBusy, ['fail', 'wait', 'takeOver'])
  const { settings, continuation } = runSettings(session, options)
  const decided = { ...continuation, decisions: decisionsOf(options) }
  const waits = { whenBusy, wait: Infinity, margin: Math.min(options.ttl ?? defaultTtl, 250) }
  const request = { session: session.id, id: undefined, message: undefined, ...waits }
  return takeTurn({ session, settings, continuation: decided, options, request })
}

const optionNames: OptionNames<ResumeOptions> = {
  ...sessionRunOptionNames,
  whenBusy: true,
  approve: true,
  deny: true,
  results: true,
}
