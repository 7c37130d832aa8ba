/** Detects network file systems, which other machines may write to. */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Their types on Linux. FUSE is not included, because it may be a local disk.
 *
 * Source  statfs(2) of Linux, and linux/magic.h
 */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, 'nfs'],
  [0x517b, 'smb'],
  [0xfe534d42, 'smb2'],
  [0xff534d42, 'cifs'],
  [0x5346414f, 'afs'],
  [0x01021997, '9p'],
  [0x00c36400, 'ceph'],
  [0x73757245, 'coda'],
  [0x0bd00bd0, 'lustre'],
])

/** The name of the network file system; undefined for other file systems, and on other platforms than Linux. */
export const networkFileSystem = (
  path: string,
  typeOf: (folder: string) => number = typeOnDisk,
): string | undefined => {
  if (process.platform !== 'linux') return undefined
  try {
    return networkTypes.get(typeOf(dirname(path)) >>> 0)
  } catch {
    return undefined // the store is already open, and this is only a warning
  }
}

const typeOnDisk = (folder: string): number => Number(BigInt.asUintN(32, statfsSync(folder, { bigint: true }).type))
