/** A log as the file has it: read as what may be anything, since a disk can have changed it. */
import type { DatabaseSync } from 'node:sqlite'
import type { CompactRange, Hash } from '../../proof/kit.ts'
import { latest } from '../port/clock.ts'
import { Damaged } from '../port/damaged.ts'
import { logInfo } from '../rules/rules.ts'
import { metaIn, wholeIn } from '../rules/stored.ts'
import type { LogInfo } from '../port/store.ts'
import type { Head } from '../port/row.ts'
import { rangeOf } from '../port/tree.ts'
import { prepareOnce, type Prepared } from './prepared.ts'
import { sumOf } from './sum.ts'

export interface LogRow {
  readonly key: number
  readonly scope: number
  readonly id: string
  readonly segment: number
  readonly size: number
  readonly entries: number
  readonly peaks: Uint8Array
  readonly root: Uint8Array
  /** The time of its own last row, if it has one. */
  readonly appended: number | null
}

/** A row of the table as SQLite gives it, its integers as bigints: those of a damaged row may be too large for a number. */
export type RawLog = Readonly<Record<string, unknown>>

/** Statements that read logs. */
export const selectLog = (db: DatabaseSync, condition: string, from = 'log'): Prepared => {
  const select = prepareOnce(
    db,
    `select key, scope, id, segment, size, entries, peaks, root, appended, created, used, sized, meta, changes as version, sum, meta_sum from ${from} ${condition}`,
  )
  return () => {
    const statement = select()
    statement.setReadBigInts(true)
    return statement
  }
}

/** The part of a log that says where its rows are. Throws Damaged. */
export const logIn = (raw: RawLog): LogRow => {
  const { id, peaks, root } = raw
  const row = {
    key: whole(raw, 'key'),
    scope: whole(raw, 'scope'),
    segment: whole(raw, 'segment'),
    size: whole(raw, 'size'),
    entries: whole(raw, 'entries'),
  }
  if (typeof id !== 'string' || !(peaks instanceof Uint8Array) || !(root instanceof Uint8Array) || root.length !== 32)
    throw new Damaged(0, 'its head can not be read')
  const appended = raw['appended'] === null ? null : whole(raw, 'appended', -latest, latest)
  return { ...row, id, peaks, root, appended }
}

/** Whether this part is as it was written. */
export const headIsSound = (raw: RawLog, log: LogRow): boolean => raw['sum'] === BigInt(headSum(log))

export const headSum = ({ scope, id, segment, size, entries, peaks, root, appended }: Omit<LogRow, 'key'>): number =>
  sumOf(scope, id, segment, size, entries, peaks, root, ...(appended === null ? [] : [appended]))

/**
 * The time by which a log is listed, of the time of its last use: in tenths of a second, so that appends that follow each
 * other closely don't move it in the index. Logs of the same tenth are sorted when they are listed.
 */
export const usedAt = (time: number): number => Math.floor(time / 100)

/**
 * The number of entries by which a log is listed: its first three bits, so that an append to a long log seldom moves it in the
 * index. Logs of the same first bits are sorted when they are listed.
 */
export const sizedAt = (entries: number): number => entries - (entries % 2 ** Math.max(0, 29 - Math.clz32(entries)))
/** Smaller numbers are listed by themselves. */
export const exactSizes = 8

/** A log without its rows. Throws Damaged. */
export const infoIn = (raw: RawLog): LogInfo => {
  const log = logIn(raw)
  const created = whole(raw, 'created', -latest, latest)
  return logInfo({
    id: log.id,
    head: headIn(log),
    entries: log.entries,
    created,
    appended: log.appended ?? undefined,
    meta: metaIn(raw['meta']),
    version: whole(raw, 'version'),
  })
}

/** Whether metadata and what stands beside it is as it was written. */
export const metaIsSound = (raw: RawLog, { created, version }: LogInfo): boolean =>
  raw['meta_sum'] === BigInt(metaSum(whole(raw, 'scope'), raw['id'] as string, created, raw['meta'] as string, version)) // `infoIn` has read them

export const metaSum = (scope: number, id: string, created: number, meta: string, version: number): number =>
  sumOf(scope, id, created, meta, version)

export const headIn = ({ size, root }: LogRow): Head =>
  Object.freeze({ size, root: Buffer.from(root.buffer, root.byteOffset, root.byteLength).toString('hex') })

/** Throws Damaged, where its peaks do not give its root. */
export const rangeIn = (log: LogRow, hash: Hash): CompactRange => rangeOf(headIn(log), split(log.peaks), hash)

/** A compact range's peaks as the file has them: one after the other. */
export const joinPeaks = (peaks: readonly Uint8Array[]): Uint8Array => Buffer.concat(peaks)

export const split = (bytes: Uint8Array): readonly Uint8Array[] =>
  Array.from({ length: bytes.length / 32 }, (_, index) => bytes.slice(index * 32, index * 32 + 32))

const whole = (raw: RawLog, name: string, least?: number, most?: number): number =>
  wholeIn(raw[name], name, least, most)
