/** A log in the file. Its columns are checked, because a disk error may have changed anything in them. */
import type { DatabaseSync } from 'node:sqlite'
import type { CompactRange, Hash } from '../../proof/internal.ts'
import { latest } from '../port/clock.ts'
import { Damaged } from '../port/damage-error.ts'
import { logInfo } from '../rules/rules.ts'
import { metaIn, wholeIn } from '../rules/read-columns.ts'
import type { LogInfo } from '../port/store.ts'
import type { Head } from '../port/row.ts'
import { countIn } from '../port/row-tokens.ts'
import { rangeOf } from '../port/tree.ts'
import { prepareInBigints, type Prepared } from './prepared.ts'
import { sumOf } from './sum.ts'

export interface LogRow {
  readonly key: number
  readonly scope: number
  readonly id: string
  readonly segment: number
  readonly size: number
  readonly entries: number
  /** The tokens that its own rows report; 0 if the column is damaged. */
  readonly tokens: number
  readonly peaks: Uint8Array
  readonly root: Uint8Array
  /** The time of its last own row; null without one. */
  readonly appended: number | null
}

/** A table row from SQLite, with integers as bigints: those of a damaged row may be too large for a number. */
export type RawLog = Readonly<Record<string, unknown>>

/** Selects what describes a log. */
export const selectLogs = (from = 'log'): string =>
  `select key, scope, id, segment, size, entries, tokens, peaks, root, appended, created, used, sized, meta, changes as version, sum, meta_sum from ${from}`

export const selectLog = (db: DatabaseSync, condition: string, from?: string): Prepared =>
  prepareInBigints(db, `${selectLogs(from)} ${condition}`)

/** The head and segment of a log. Throws Damaged. */
export const logIn = (raw: RawLog): LogRow => {
  const { id, peaks, root } = raw
  const row = {
    key: wholeColumn(raw, 'key'),
    scope: wholeColumn(raw, 'scope'),
    segment: wholeColumn(raw, 'segment'),
    size: wholeColumn(raw, 'size'),
    entries: wholeColumn(raw, 'entries'),
    tokens: countIn(raw['tokens']),
  }
  if (typeof id !== 'string' || !(peaks instanceof Uint8Array) || !(root instanceof Uint8Array) || root.length !== 32)
    throw new Damaged(0, 'its head can not be read')
  const appended = raw['appended'] === null ? null : wholeColumn(raw, 'appended', -latest, latest)
  return { ...row, id, peaks, root, appended }
}

/** Whether the checksum of the log's name and segment is right. */
export const nameIsSound = (raw: RawLog, log: LogRow): boolean => raw['sum'] === BigInt(nameSum(log))

export const nameSum = ({ scope, id, segment }: Pick<LogRow, 'scope' | 'id' | 'segment'>): number =>
  sumOf(scope, id, segment)

/**
 * The sort key of a log's last use, in tenths of a second, so that appends in quick succession
 * don't move the log in the index. Logs with the same key are sorted when they are listed.
 */
export const useTimeKey = (time: number): number => Math.floor(time / 100)

/**
 * The sort key of a log's number of entries: its first three bits, so that an append to a long log
 * seldom moves the log in the index. Logs with the same key are sorted when they are listed.
 */
export const sizeKey = (entries: number): number => entries - (entries % 2 ** Math.max(0, 29 - Math.clz32(entries)))
/** Below this number of entries, the sort key is exact. */
export const exactSizes = 8

/** The description of a log. Throws Damaged. */
export const infoIn = (raw: RawLog): LogInfo => {
  const log = logIn(raw)
  const created = wholeColumn(raw, 'created', -latest, latest)
  return logInfo({
    id: log.id,
    head: headIn(log),
    entries: log.entries,
    tokens: log.tokens,
    created,
    appended: log.appended ?? undefined,
    meta: metaIn(raw['meta']),
    version: wholeColumn(raw, 'version'),
  })
}

/** Whether the checksum of the metadata, creation time and version is right. */
export const metaIsSound = (raw: RawLog, { created, version }: LogInfo): boolean =>
  raw['meta_sum'] ===
  BigInt(metaSum(wholeColumn(raw, 'scope'), raw['id'] as string, created, raw['meta'] as string, version)) // `infoIn` has read them

export const metaSum = (scope: number, id: string, created: number, meta: string, version: number): number =>
  sumOf(scope, id, created, meta, version)

export const headIn = ({ size, root }: LogRow): Head =>
  Object.freeze({ size, root: Buffer.from(root.buffer, root.byteOffset, root.byteLength).toString('hex') })

/** Throws Damaged if its peaks do not match its root. */
export const rangeIn = (log: LogRow, hash: Hash): CompactRange => rangeOf(headIn(log), splitHashes(log.peaks), hash)

export const splitHashes = (bytes: Uint8Array): readonly Uint8Array[] =>
  Array.from({ length: bytes.length / 32 }, (_, index) => bytes.slice(index * 32, index * 32 + 32))

const wholeColumn = (raw: RawLog, name: string, least?: number, most?: number): number =>
  wholeIn(raw[name], name, least, most)
