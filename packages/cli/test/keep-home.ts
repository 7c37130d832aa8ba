/** A home with sessions of Claude Code, and a store that keeps them. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdDecompressSync } from 'node:zlib'
import { folder, indelible, type CommandEnded } from './indelible.ts'

export const id = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

/** A line of Claude Code. */
export const line = (session: string, number: number, text: string, second: number = number): string =>
  `${JSON.stringify({
    ...{ uuid: `${session}-${number}`, parentUuid: number === 0 ? null : `${session}-${number - 1}` },
    ...{ sessionId: session, version: '2.1.0', cwd: '/w', timestamp: new Date(1.79e12 + second * 1000).toISOString() },
    ...(number % 2 === 0
      ? { type: 'user', message: { role: 'user', content: text } }
      : {
          type: 'assistant',
          message: { id: `m${number}`, type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn', content: [{ type: 'text', text }] }, // oxfmt-ignore
        }),
  })}\n`

interface Home {
  readonly home: string
  readonly store: string
  readonly env: { readonly [name: string]: string }
  /** The path of a session file. */
  readonly at: (path: string) => string
  readonly write: (path: string, text: string | Uint8Array) => void
  readonly keep: (...more: readonly string[]) => CommandEnded
  readonly run: (...args: readonly string[]) => CommandEnded
  /** The bytes of a file that `restore` writes to a new folder. */
  readonly restored: (session: string, path: string) => Buffer | undefined
}

/** A home with a store, of a machine with a name. */
export const newHome = (host = 'here'): Home => {
  const home = mkdtempSync(join(folder, 'keep-'))
  const store = join(home, 'sessions.db')
  const env = { HOME: home, INDELIBLE_HOST: host }
  const at = (path: string): string => join(home, '.claude/projects/-w', path)
  return {
    ...{ home, store, env, at },
    write: (path: string, text: string | Uint8Array): void => {
      mkdirSync(dirname(at(path)), { recursive: true })
      writeFileSync(at(path), text)
    },
    keep: (...more: readonly string[]) =>
      indelible(['keep', '--only', 'claude-code', '--store', store, ...more], { env }),
    run: (...args: readonly string[]) => indelible([...args, '--store', store], { env }),
    restored: (session: string, path: string): Buffer | undefined => {
      const to = mkdtempSync(join(home, 'copy-'))
      indelible(['restore', session, '--to', to, '--store', store], { env })
      const file = join(to, 'projects/-w', path)
      return existsSync(file) ? readFileSync(file) : undefined
    },
  }
}

/** Everything in a store's file, with all compressed blocks decompressed. */
export const allBytes = (store: string): string => {
  const db = new DatabaseSync(store, { readOnly: true })
  const blocks = db.prepare('select bytes from content').all() as unknown as readonly { readonly bytes: Uint8Array }[]
  const texts = blocks.map(({ bytes }) => {
    try {
      return zstdDecompressSync(bytes).toString('latin1')
    } catch {
      return ''
    }
  })
  db.close()
  const files = ['', '-wal'].map((end) => (existsSync(store + end) ? readFileSync(store + end).toString('latin1') : ''))
  return [...files, ...texts].join('\n')
}
