/** `indelible restore SESSION`: writes the kept files of a session back, byte for byte. */
import { createReadStream, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { link, open, unlink } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { createHash, randomUUID } from 'node:crypto'
import type { Note } from 'indelible/internal/notes'
import { readSession } from 'indelible/session'
import type { Store } from 'indelible/store'
import { folderOf, isOwnFile, ownDatabase, titleOf } from '../sources/agent-sessions.ts'
import { unwritable } from '../sources/input.ts'
import { sessionOfCall, storeOption, valueOrUnreadable, withStore } from '../sources/place.ts'
import { idsFrom, sessionOrAdvice } from '../sources/sessions.ts'
import { Misuse, Unreadable, type Command } from '../terminal/command.ts'
import { sizeText } from '../terminal/progress.ts'
import { countText, shellWord } from '../terminal/screen.ts'
import { bytesOf, latestWhole, versionsIn, type KeptVersion } from './kept-files.ts'

export const restore: Command = {
  name: 'restore',
  synopsis: 'restore SESSION',
  purpose: 'write the kept files of a session back',
  usage: ['restore SESSION [--to FOLDER] [options]'],
  about: `Writes the files that "indelible keep" kept of a session, byte for byte as they
were when they were last kept whole, with what lay beside them and with the session's
sub-agents: to the folder in which the program has its sessions on this machine, so
that the program can continue it, or below FOLDER as a copy.

A file that is there with the same bytes stays. If one differs, nothing is written.
No link is followed below the folder, and only paths are written in which the program
keeps sessions. The files can be read by you only, and have the current time, because
programs delete old ones.

The rows of a session of opencode are written by its own import, and then have the
kept values, column by column. Of another database they can be written to a FOLDER;
"indelible continue" brings the session back into a program.`,
  options: {
    to: { value: 'FOLDER', help: 'write a copy below this folder (default: where the program looks for it)' },
    ...storeOption,
  },
  examples: ['indelible restore 0b0f5e8a', 'indelible restore 0b0f5e8a --to copy'],
  run: async (call) => {
    const { values, terminal } = call
    const name = sessionOfCall('restore', call)
    const { to } = values
    if (to === '') throw new Misuse('--to takes a FOLDER')
    await withStore(call, {}, async (store) => {
      const id = await sessionOrAdvice(store, name, terminal)
      const family = (await idsFrom(store, id)).filter((name) => name.startsWith(`${id}.agent-`))
      const files = new Map<string, KeptVersion>()
      let isErased = false
      for (const session of [id, ...family]) {
        const notes = [...(await valueOrUnreadable(readSession(store, session))).notes()] as readonly Note[]
        isErased ||= notes.some((note) => note.type === 'erased' && note.was === 'kept_file')
        for (const [key, versions] of versionsIn(notes)) {
          const version = latestWhole(versions)
          if (version !== undefined) files.set(key, version)
        }
      }
      if (files.size === 0)
        throw new Unreadable(
          `${id}: no file of it is kept${isErased ? ', because messages were erased from it' : ''}; "indelible continue ${shellWord(id)}" writes its messages for a program`,
        )
      const targets: Target[] = []
      const databases: { readonly version: KeptVersion; readonly path: string }[] = []
      for (const version of files.values()) {
        const path = to === undefined ? ownDatabase(version.program, version.file, terminal.env) : undefined
        if (path !== undefined) {
          databases.push({ version, path })
          continue
        }
        targets.push(
          typeof to === 'string' ? targetIn(terminal.path(to), version) : targetOf(version, id, terminal.env),
        )
      }
      for (const target of targets) await check(store, target)
      for (const target of targets) {
        const size = sizeText(target.version.to)
        const written = await write(store, target)
        await terminal.print([`${target.path}: ${written ? `${size} written` : 'is there already'}`])
      }
      for (const { version, path } of databases) {
        const { restoreRows } = await import('./restore-rows.ts')
        const pieces: Uint8Array[] = []
        for await (const piece of bytesOf(store, version)) pieces.push(piece)
        const written = await restoreRows(Buffer.concat(pieces), path, version.file.slice(version.file.indexOf('#') + 1), terminal) // oxfmt-ignore
        await terminal.print([`${path}#${id}: ${written ? 'rows written by opencode' : 'is there already'}`])
      }
      terminal.tell([`${id}: ${countText(targets.length + databases.length, 'file')} restored`])
    })
  },
}

/** Where a file is written. */
interface Target {
  readonly version: KeptVersion
  /** The folder below which no link is followed. */
  readonly root: string
  readonly steps: readonly string[]
  readonly path: string
}

const targetIn = (root: string, version: KeptVersion): Target => {
  const steps = stepsOf(version.file)
  return { version, root, steps, path: join(root, steps.join('/')) }
}

const targetOf = (version: KeptVersion, id: string, env: Parameters<typeof folderOf>[1]): Target => {
  const { program, file } = version
  if (file.includes('#'))
    throw new Unreadable(
      `${id} is in a database of ${titleOf(program)}, which this command does not write: --to FOLDER writes its rows, and "indelible continue ${shellWord(id)}" brings its messages back`,
    )
  if (!isOwnFile(program, file))
    throw new Unreadable(`${file}: ${titleOf(program)} has no such file; nothing was written`)
  return targetIn(folderOf(program, env), version)
}

/** The steps of a kept path. It comes from the store, so it is checked. Throws Unreadable. */
const stepsOf = (file: string): readonly string[] => {
  const steps = file.split('/')
  const isPlain = (step: string): boolean =>
    step !== '' && step !== '.' && step !== '..' && !step.includes('\0') && !(sep === '\\' && /[\\:]/.test(step))
  if (!steps.every(isPlain))
    throw new Unreadable(`${JSON.stringify(file)} is not a path below a folder; nothing was written`)
  return steps
}

/** Throws Unreadable if the file can't be written, or if another one is there. */
const check = async (store: Store, { version, root, steps, path }: Target): Promise<void> => {
  let folder = root
  for (const step of steps.slice(0, -1)) {
    folder = join(folder, step)
    const found = lstatSync(folder, { throwIfNoEntry: false })
    if (found === undefined) break
    if (!found.isDirectory())
      throw new Unreadable(`${folder}: is ${found.isSymbolicLink() ? 'a link' : 'not a folder'}; nothing was written`)
  }
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found !== undefined && !(found.isFile() && (await digestOf(path)) === version.digest))
    throw new Unreadable(
      `${path}: is there and differs from what was kept; nothing was written. --to FOLDER writes a copy`,
    )
  for await (const _ of bytesOf(store, version)); // what can't be read is reported before anything is written
}

const digestOf = async (path: string): Promise<string> => {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path)) hash.update(piece as Uint8Array)
  return hash.digest('hex')
}

/** Write a file; false if it is there already. A crash leaves the whole file or none under its name. */
const write = async (store: Store, { version, root, steps, path }: Target): Promise<boolean> => {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return false
  const folder = dirname(path)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unwritable(folder, error)
  }
  if (realpathSync(folder) !== join(realpathSync(root), ...steps.slice(0, -1)))
    throw new Unreadable(`${folder}: leads to another folder; it was not written`)
  const partial = join(folder, `.indelible-${randomUUID()}`)
  const file = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw unwritable(partial, error)
  })
  try {
    try {
      for await (const bytes of bytesOf(store, version)) await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(partial, path) // never over a file that appeared meanwhile
  } catch (error) {
    throw error instanceof Unreadable ? error : unwritable(path, error)
  } finally {
    await unlink(partial)
  }
  return true
}
