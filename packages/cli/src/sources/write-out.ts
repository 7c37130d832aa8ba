/** Writes the output file of a command: completely or not at all, and never over an existing file by accident. */
import { randomUUID } from 'node:crypto'
import { open, rename, stat, unlink } from 'node:fs/promises'
import { Misuse, Unreadable, type Terminal } from '../terminal/command.ts'
import { unwritable } from './input.ts'

interface Writing {
  readonly input: string
  readonly force: boolean
  readonly terminal: Terminal
  /** The permissions of the file, before the umask. Default: those of ordinary files. */
  readonly mode?: number
}

/**
 * Write lines to a file: into a temporary file next to it, which is renamed when complete.
 *
 * Throws  Misuse if it is the input; Unreadable if it exists and `force` is false, or if it can't be written
 */
export const writeOut = async (
  path: string,
  lines: Iterable<string>,
  { input, force, terminal, mode = 0o666 }: Writing,
): Promise<void> => {
  const place = terminal.path(path)
  const there = await fileAt(place)
  if (there !== undefined && input !== '-' && there === (await fileAt(terminal.path(input))))
    throw new Misuse(`--out: ${path} is also the input; choose another file`)
  if (there !== undefined && !force) throw new Unreadable(`${path}: already exists; --force overwrites it`)
  const part = `${place}.${randomUUID()}.part`
  try {
    const file = await open(part, 'wx', mode)
    try {
      let pending = ''
      for (const line of lines) {
        pending += `${line}\n`
        if (pending.length < 1 << 16) continue
        await file.write(pending)
        pending = ''
      }
      await file.write(pending)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part, place)
  } catch (error) {
    await unlink(part).catch(() => undefined) // it may not exist
    throw unwritable(path, error)
  }
}

/** Identifies the file behind a path: equal for all paths to it. Undefined if there is none. */
const fileAt = async (path: string): Promise<string | undefined> => {
  try {
    const { dev, ino } = await stat(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}
