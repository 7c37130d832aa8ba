import type { SessionReader } from '../../src/session/index.ts'

/** The time of each message of a record. */
export const timesIn = (session: SessionReader): readonly number[] =>
  [...session.at().rows()].filter(({ kind }) => kind === 'entry').map(({ at }) => at)
