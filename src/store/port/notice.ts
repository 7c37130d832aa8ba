/** Notices that a store sends to the program that opened it. */
import { storeFaultText, type StoreFault } from '../fault.ts'

/** A report from a store, apart from call results. */
export type StoreNotice =
  /** The store was to be opened for writing, but is read-only, for this reason. */
  | { readonly _tag: 'OpenedReadOnly'; readonly path: string; readonly reason: StoreFault }
  /** The file is on a network file system of this type, whose locks are not reliable between machines. */
  | { readonly _tag: 'NetworkFileSystem'; readonly path: string; readonly type: string }
  /**
   * The write-ahead log has this many bytes, and can't be emptied while processes read an earlier state.
   * `readers` has their ids, if the system reports them. Reported again when the log has doubled.
   */
  | { readonly _tag: 'LogGrows'; readonly path: string; readonly bytes: number; readonly readers: readonly number[] }
  /** A call found damage: the fault that it returned, or one despite which a list continued. */
  | { readonly _tag: 'DamageFound'; readonly scope: string; readonly fault: StoreFault }

/**
 * Receives the reports of a store. Exceptions that it throws are ignored, so that they can't break a call.
 *
 * @param notice the report
 */
export type OnNotice = (notice: StoreNotice) => void

/** Wraps a callback so that it never throws. */
export const withoutThrows =
  (onNotice: OnNotice): OnNotice =>
  (notice) => {
    try {
      onNotice(notice)
    } catch {
      // reporting must not break the call, and there is nowhere else to report this
    }
  }

/** A notice as a sentence for people. */
export const storeNoticeText = (notice: StoreNotice): string => {
  switch (notice._tag) {
    case 'OpenedReadOnly':
      return `${notice.path} was opened read-only: ${storeFaultText(notice.reason)}`
    case 'NetworkFileSystem':
      return `${notice.path} is on a network file system (${notice.type}): SQLite files are not supported there, and can be damaged; use a disk of this machine, or PostgreSQL`
    case 'LogGrows':
      return `${notice.path}-wal has grown to ${notice.bytes} bytes, because an earlier state of the file is still read${notice.readers.length === 0 ? '' : ` by process ${notice.readers.join(', ')}`}: end that read`
    case 'DamageFound':
      return `scope ${JSON.stringify(notice.scope)}: ${storeFaultText(notice.fault)}`
  }
}
