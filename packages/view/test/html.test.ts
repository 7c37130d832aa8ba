import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { assistant, createSession, forkSession, memoryStore, user } from 'indelible'
import type { Note, SealNote } from '../../../src/notes/internal.ts'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { htmlOf } from '@indelible/view'
import { exportedId, type ExportedView } from '../src/protocol.ts'

const secret = `sk-ant-api03-${'A1b2C3d4'.repeat(12)}`
const hostile = `</script><script>alert(1)</script><!-- \u2028 \ufeff ${'ü'}`

const sessionIn = async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 'one', metadata: { title: `Key ${secret}` }, erasable: true })
  await session.append([
    user('first'),
    user(`my key is ${secret}`),
    assistant(hostile),
    user(`${secret} ${'long '.repeat(2000)}`),
  ])
  await session.note({ type: 'application', namespace: 'test', content: { key: secret } })
  await session.append(user('last'))
  return { store, session }
}

const carried = (file: string): ExportedView =>
  JSON.parse(new RegExp(`id="${exportedId}">(.*?)</script>`, 's').exec(file)?.[1] ?? '') as ExportedView

const fileOf = async (options: Partial<Parameters<typeof htmlOf>[2]> = {}) => {
  const { store, session } = await sessionIn()
  const file = (await htmlOf(store, 'one', { version: '1', ...options })).join('\n')
  return { file, exported: carried(file), session, rows: await store.read('one') }
}

describe('a session exported as HTML', () => {
  it('has every row as stored, in ASCII that cannot end a script', async () => {
    const { file, exported, session, rows } = await fileOf()
    expect(exported.rows).toEqual(rows)
    expect(exported.session.head).toEqual(session.head())
    expect(exported.nodes).toHaveLength(64 * rows.length)
    expect(/[^\n -~]/.test(file)).toBe(false)
    expect(file.match(/<script/g)).toHaveLength(2)
    expect(file.match(/<\/script/g)).toHaveLength(2)
    expect(/<[^>]*(?:src|href)="(?!data:)/.test(file.slice(0, file.indexOf('<style>')))).toBe(false)
  })
  it('runs only the script and style that its policy names by digest', async () => {
    const { file } = await fileOf()
    const policy = /content-security-policy" content="([^"]*)"/.exec(file)?.[1] ?? ''
    const script = /<script type="module">(.*?)<\/script>/s.exec(file)?.[1] ?? ''
    const style = /<style>(.*?)<\/style>/s.exec(file)?.[1] ?? ''
    for (const [name, text] of [
      ['script-src', script],
      ['style-src', style],
    ] as const)
      expect(policy).toContain(`${name} 'sha256-${createHash('sha256').update(text).digest('base64')}'`)
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
  })
  it('has omitted rows by leaf only', async () => {
    const { exported, rows } = await fileOf({ from: 2, to: 4 })
    expect(exported.rows.map(({ state }) => state)).toEqual([
      'left-out',
      'left-out',
      undefined,
      undefined,
      'left-out',
      'left-out',
    ])
    for (const row of exported.rows.filter(({ state }) => state === 'left-out'))
      expect(Object.keys(row).toSorted()).toEqual(['index', 'kind', 'leaf', 'position', 'state'])
    expect(JSON.stringify(exported)).not.toContain('first')
    expect(exported.rows[2]).toEqual(rows[2])
    expect(exported.nodes).toHaveLength(64 * rows.length)
    for (const [to, isWhole] of [
      [4, false],
      [5, true],
    ] as const)
      expect([to, 'title' in (await fileOf({ to })).exported.session.metadata]).toEqual([to, isWhole])
    const { exported: only } = await fileOf({ only: [0, 4] })
    expect(only.rows.map(({ state }) => state === undefined)).toEqual([true, false, false, false, false, true])
  })
  it('for a part has nothing from elsewhere', async () => {
    const store = memoryStore()
    const hidden = 'Grace Hopper of Arlington'
    const message = { role: 'user', content: [{ type: 'text', text: hidden }] }
    const [block, other] = await store.putBlocks([Buffer.from(hidden.repeat(300)), Buffer.from('of another session')])
    await createSession(store, { id: `of ${hidden}`, messages: [user('hello')] })
    const session = await forkSession(store, `of ${hidden}`, { id: 'one', at: 1 })
    await session.update((metadata) => void Object.assign(metadata, { title: hidden, [hidden]: 1 }))
    const notes: Exclude<Note, SealNote>[] = [
      { type: 'journal', step: 's', said: [{ index: 0, text: hidden }] },
      { type: 'input', id: hidden, state: 'queued', message },
      { type: 'tool_started', callId: 'c', name: 'find', arguments: hidden },
      {
        type: 'receipt',
        len: 1,
        contextDigest: 'ab'.repeat(32),
        model: 'm',
        details: { tools: block as string, of: hidden },
      },
      { type: 'application', namespace: hidden, content: [hidden, other as string] },
    ]
    const appendNotes = async (): Promise<void> => {
      for (const note of notes) await session.note(note)
      const { len } = session
      await session.note({ type: 'summary', from: len - 1, to: len, text: hidden })
    }
    await session.append(user(hidden))
    await session.append(user('in the part'))
    await session.note({ type: 'pin', position: 2 })
    await session.append(assistant('also in the part'))
    await appendNotes()
    await session.rewind(3)
    await session.append(assistant(`${hidden.repeat(300)}`))
    await appendNotes()
    const rows = await store.read('one')
    const inPart = (row: (typeof rows)[number] | undefined): string => JSON.parse(row?.body ?? '{}').type ?? row?.kind
    for (const selection of [{ from: 2, to: 4 }, { only: [2, 3] }, { from: 2, to: 4, redact: true }]) {
      const { rows: shown, ...rest } = carried((await htmlOf(store, 'one', { version: '1', ...selection })).join('\n'))
      expect(JSON.stringify([shown, rest])).not.toContain('Grace')
      expect(rest.session.metadata).toEqual({})
      expect(rest.blocks).toEqual({})
      expect(shown.flatMap(({ state, position }) => (state === undefined ? [inPart(rows[position])] : []))).toEqual([
        ...['entry', 'pin', 'entry', 'retraction'],
      ])
    }
    const whole = carried((await htmlOf(store, 'one', { version: '1' })).join('\n'))
    expect(whole.session).toMatchObject({ metadata: { title: hidden }, forkedFrom: { id: `of ${hidden}` } })
    expect(Object.keys(whole.blocks)).toHaveLength(1) // the long answer's and the receipt's
  })
  it('has no secret and no salt in a redacted row, only its leaf', async () => {
    const { exported, rows } = await fileOf({ redact: true })
    expect(JSON.stringify(exported)).not.toContain(secret)
    expect(Buffer.from(Object.values(exported.blocks).join(''), 'base64').toString()).not.toContain(secret)
    for (const bytes of Object.values(exported.blocks))
      expect(Buffer.from(bytes, 'base64').toString()).not.toContain(secret)
    expect(exported.rows.map(({ state }) => state)).toEqual([
      undefined,
      'redacted',
      undefined,
      'redacted',
      'redacted',
      undefined,
    ])
    for (const row of exported.rows.filter(({ state }) => state === 'redacted'))
      expect([row.salt, row.leaf]).toEqual([undefined, expect.stringMatching(/^[0-9a-f]{64}$/)])
    expect(exported.rows[0]).toEqual(rows[0])
  })
  it('has no secret in its id, title, metadata and fork origin', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: `of-${secret}`, metadata: { title: secret, [secret]: [secret] } })
    await session.append(user('hello'))
    await forkSession(store, session.id, { id: 'fork' })
    for (const id of [session.id, 'fork']) {
      const file = (await htmlOf(store, id, { version: '1', redact: true })).join('\n')
      expect(file).not.toContain(secret)
      expect(carried(file).session.head).toEqual((await store.info(id)).head)
    }
  })
  it('has no secret of an encrypted session, also in block texts', async () => {
    const store = withKeys(memoryStore(), keyRing([newHostKey('now')]))
    const session = await createSession(store, { id: 'one' })
    await session.append(user(`${secret} ${'long '.repeat(2000)}`))
    const exported = carried((await htmlOf(store, 'one', { version: '1', redact: true })).join('\n'))
    await session.append(user('last'))
    const part = carried((await htmlOf(store, 'one', { version: '1', from: 1, to: 2 })).join('\n'))
    expect(part.session).toMatchObject({ encrypted: true, metadata: {} })
    expect(exported.rows.map(({ state }) => state)).toEqual(['redacted'])
    const blocks = Object.values(exported.blocks).map((bytes) => Buffer.from(bytes, 'base64').toString())
    expect(blocks).toEqual([expect.stringMatching(/^\[redacted .*long long/)])
  })
})
