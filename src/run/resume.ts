/** `resume`: continue a session where a run died, or where one ended for an approval. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, optionsOf, right, type OptionNames } from '../json/index.ts'
import type { Session } from '../session/index.ts'
import type { Control } from './control.ts'
import { turnFaultText, type TurnFault } from './fault.ts'
import { launchRun, type Over, type RunStream, type Start } from './launch.ts'
import { decisionsOf, type Decisions } from './open-answer.ts'
import { defaultTtl } from './run-lease.ts'
import { knownOfSessionRun, runSettings, type SessionRunOptions } from './turn.ts'
import { TurnTaking, type StartFault } from './turn-taking.ts'

/** How a session is continued. */
export interface ResumeOptions extends SessionRunOptions, Decisions {
  /**
   * What to do while somebody holds the session: `fail` with `SessionBusy`; `wait` for it; or `takeOver`: wait until the
   * lease of a process that died has expired, and fail if it is renewed. Default: `takeOver`.
   */
  readonly whenBusy?: 'fail' | 'wait' | 'takeOver'
}

/**
 * Continue from whatever the record says: results that are there are used, calls that were not started are run, and what
 * becomes of those that were started and not finished says `unfinished`. An answer that was cut is recorded as such, and
 * the model is called again. Where everything was said, nothing happens: the run ends as `end_turn` with the last answer.
 *
 * A run that ended with `approval` is continued with `approve` and `deny`, after days and in another process. While calls
 * wait that nobody has decided on, it ends with `approval` again.
 *
 * @param given the model, the tools, the decisions
 * @throws TypeError if an option is invalid, or a decision is no token of a call
 * @example
 * await resume(session, { model, tools: [deploy], approve: [asked.open.calls[0].approval] }).result()
 */
export const resume = (session: Session, given: ResumeOptions): RunStream<TurnFault> => {
  const options = optionsOf('resume', given, known)
  const { whenBusy = 'takeOver' } = options
  const { settings, continuation } = runSettings(session, options)
  const decided = decisionsOf(options)
  const turns = new TurnTaking(session, settings, continuation, options)
  const begin = async (control: Control): Promise<Either<StartFault, Start | Over>> => {
    let held = await turns.hold(control, whenBusy === 'wait' ? Infinity : 0)
    if (whenBusy === 'takeOver' && isLeft(held) && held.left._tag === 'SessionBusy')
      held = await turns.hold(control, held.left.remaining + margin(options.ttl))
    if (isLeft(held)) return held
    if (held.right !== undefined) return right(held.right)
    const start = await turns.again(decided)
    if (isLeft(start)) return start
    return right(start.right ?? turns.over('end_turn'))
  }
  return launchRun(settings, begin, turnFaultText, (ended) => turns.finish(ended))
}

const known: OptionNames<ResumeOptions> = { ...knownOfSessionRun, whenBusy: true, approve: true, deny: true }

/** Milliseconds beyond the end of a lease: a live holder has renewed by then. */
const margin = (ttl = defaultTtl): number => Math.min(ttl, 250)
