/** A new home: what the command does before anything is stored, and without an argument. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { environment, indelible, main } from './indelible.ts'

/** A home in which Claude Code and Codex keep sessions, `count` of the former. */
const newHome = (count = 2): { readonly home: string; readonly env: { readonly [name: string]: string } } => {
  const home = mkdtempSync(join(tmpdir(), 'indelible-new-home-'))
  const claude = join(home, '.claude/projects/-work')
  const codex = join(home, '.codex/sessions/2026/11/20')
  for (const folder of [claude, codex]) mkdirSync(folder, { recursive: true })
  for (let at = 1; at <= count; at++) {
    const sessionId = `0b0f5e8a-6c1d-4f2e-9a3b-${String(at).padStart(12, '0')}`
    const entry = { sessionId, cwd: home, timestamp: new Date(Date.UTC(2026, 10, 21, at)).toISOString() }
    const lines = [
      {
        ...entry,
        type: 'user',
        uuid: `u${at}`,
        parentUuid: null,
        message: { role: 'user', content: `Question ${at}` },
      },
      {
        ...{ ...entry, type: 'assistant', uuid: `a${at}`, parentUuid: `u${at}` },
        message: {
          id: `m${at}`,
          role: 'assistant',
          model: 'claude-opus-5',
          content: [{ type: 'text', text: `Answer ${at}` }],
        },
      },
    ]
    const path = join(claude, `${sessionId}.jsonl`)
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    utimesSync(path, 1_790_000_000 + at, 1_790_000_000 + at)
  }
  const path = join(codex, 'rollout-2026-11-20T00-00-00-01a2078d-126e-7f33-92b2-bbce2de80c4c.jsonl')
  const codexLines = [
    { timestamp: '2026-11-20T00:00:00.000Z', type: 'session_meta', payload: { id: '01a2078d-126e-7f33-92b2-bbce2de80c4c', cwd: home } },
    { timestamp: '2026-11-20T00:00:01.000Z', type: 'response_item', payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Codex?' }] } },
  ] // oxfmt-ignore
  writeFileSync(path, codexLines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  utimesSync(path, 1_780_000_000, 1_780_000_000)
  return { home, env: { HOME: home, XDG_DATA_HOME: join(home, 'data') } }
}

describe('a command without an argument', () => {
  it.each([
    ['show', /Answer 3/],
    ['show --json', /Answer 3/],
    ['context', /Answer 3/],
    ['context --compare --budget 1k', /budget 1,000 tokens, 1 call\b/],
    ['export --to anthropic', /Answer 3/],
    ['export --to html', /<!doctype html>/i],
    ['verify', /: good, 2 messages/],
    ['prove', /^3:[0-9a-f]{64}\n$/],
  ])('%s takes the latest session', (line, expected) => {
    const { env } = newHome(3)
    // The one of the latest conversation, and not the one that was imported last.
    for (const program of ['claude-code', 'codex'])
      expect(indelible(['keep', '--only', program], { env }).status).toBe(0)
    const { status, stdout, stderr } = indelible(line.split(' '), { env })
    expect([status, stderr]).toEqual([0, expect.stringMatching(/^latest session: 0b0f5e8a-6c1d-4f2e-9a3b-0{11}3$/m)])
    expect(stdout).toMatch(expected)
  })
  it.each(['fork', 'rewind', 'note', 'pin', 'retag', 'rename', 'append', 'erase', 'hold', 'remove'])('%s, which changes a session, takes none', (name) => {
    const { env } = newHome(1)
    expect(indelible(['keep'], { env }).status).toBe(0)
    expect(indelible([name], { env })).toMatchObject({ status: 2, stdout: '' })
  }) // oxfmt-ignore
})

describe('an empty store', () => {
  it('keep stores what agents keep here, once', () => {
    const { env } = newHome()
    expect(indelible(['keep'], { env })).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Codex +1 session .* 1 new$/m) }) // oxfmt-ignore
    expect(indelible(['list', '--json'], { env }).lines.filter(Boolean)).toHaveLength(3)
    expect(indelible(['keep'], { env })).toMatchObject({ status: 0, stdout: expect.not.stringContaining('new') })
    expect(indelible(['keep', '--only', 'everything'], { env })).toMatchObject({ status: 2 })
    const nobody = mkdtempSync(join(tmpdir(), 'indelible-nobody-'))
    const none = indelible(['keep'], { env: { HOME: nobody, XDG_DATA_HOME: nobody } })
    expect([none.status, none.stderr]).toEqual([0, expect.stringContaining('found no sessions of ')])
  })
  it.each(['show', 'list', 'verify', 'context', 'export --to anthropic', 'spend', 'search word', 'prove'])(
    '%s names what was found and the command that brings it in',
    (line) => {
      const { home, env } = newHome()
      const found = 'found on this machine: 2 sessions of claude-code, 1 session of codex; "indelible keep" keeps them'
      expect(indelible(line.split(' '), { env })).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(`this store does not exist; ${found}\n`) }) // oxfmt-ignore
      expect(existsSync(join(home, 'data'))).toBe(false)
      const nobody = { HOME: join(home, 'data'), XDG_DATA_HOME: join(home, 'data') }
      expect(indelible(line.split(' '), { env: nobody }).stderr).toContain('"indelible import FILE" creates it')
    },
  )
  it('show and list say so too if the store is there, and has no session', () => {
    const { env } = newHome(1)
    indelible(['keep', '--only', 'codex'], { env })
    indelible(['remove', '01a2078d-126e-7f33-92b2-bbce2de80c4c', '--yes'], { env })
    for (const name of ['show', 'list'])
      expect(indelible([name], { env }).stderr).toMatch(/no sessions yet; found on this machine: 1 session of claude-code, 1 session of codex; "indelible keep" keeps them\n$/) // oxfmt-ignore
  })
})

it('list --machine shows the project of a folder as its system writes it', () => {
  const { home, env } = newHome(0)
  const path = join(home, '.claude/projects/-work/0b0f5e8a-6c1d-4f2e-9a3b-000000000001.jsonl')
  for (const cwd of ['C:\\work\\api', '/work/api', 'C:/work/api', '\\\\server\\share\\api']) {
    writeFileSync(
      path,
      `${JSON.stringify({ type: 'user', uuid: 'u', parentUuid: null, cwd, message: { role: 'user', content: 'hello' } })}\n`,
    )
    const { lines } = indelible(['list', '--machine', '--of', 'claude-code'], { env })
    expect([cwd, lines[0]]).toEqual([cwd, expect.stringMatching(/ {2}api {2}hello$/)])
    const [json] = indelible(['list', '--machine', '--of', 'claude-code', '--json'], { env }).lines
    expect(JSON.parse(json ?? '')).toMatchObject({ project: cwd })
  }
})

describe('view in a new home', () => {
  const view = async (home: { readonly [name: string]: string }, ...args: readonly string[]) => {
    const child = spawn(process.execPath, [main, 'view', '--no-open', ...args], {
      env: { ...environment({ env: home }), NODE_OPTIONS: '--conditions=@indelible/source' },
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (text: Buffer) => (out += text.toString()))
    child.stderr.on('data', (text: Buffer) => (err += text.toString()))
    const closed = once(child, 'close')
    await Promise.race([once(child.stdout, 'data'), closed])
    const end = async () => {
      child.kill('SIGINT')
      const [status] = (await closed) as [number | null]
      return { status, out, err }
    }
    const token = /#token=([\w-]+)/.exec(out)?.[1]
    if (token === undefined) return { end, list: async () => [] }
    const origin = /^(http:\/\/[^/]+)\//.exec(out)?.[1] ?? ''
    const entered = await fetch(`${origin}/api/enter`, { method: 'POST', body: JSON.stringify({ token }), headers: { origin, 'content-type': 'application/json' } }) // oxfmt-ignore
    const { key } = (await entered.json()) as { readonly key: string }
    const list = async (): Promise<readonly string[]> => {
      const response = await fetch(`${origin}/api/sessions`, { headers: { authorization: `Bearer ${key}` } })
      const { sessions } = (await response.json()) as { readonly sessions: readonly { readonly id: string }[] }
      return sessions.map(({ id }) => id).toSorted()
    }
    return { end, list }
  }
  it('shows the sessions that agents keep here, and stores nothing', async () => {
    const { home, env } = newHome(40)
    const { end, list } = await view(env)
    await expect.poll(async () => (await list()).length, { timeout: 60_000 }).toBe(41)
    const { status, err } = await end()
    expect(err).toContain('nothing is stored yet, so the page shows what agents keep here; found on this machine: 40 sessions of claude-code, 1 session of codex; "indelible keep" keeps them\n') // oxfmt-ignore
    expect([status, existsSync(join(home, 'data'))]).toEqual([0, false])
  })
  it('shows a named one of them, and names one that is missing', async () => {
    const { env } = newHome()
    const { end, list } = await view(env, '0b0f5e8a-6c1d-4f2e-9a3b-000000000001')
    expect(await list()).toContain('0b0f5e8a-6c1d-4f2e-9a3b-000000000001')
    expect((await end()).out).toContain('&to=s/0b0f5e8a-6c1d-4f2e-9a3b-000000000001')
    const missing = await (await view(env, 'nobody')).end()
    expect(missing).toMatchObject({ status: 1, out: '', err: expect.stringContaining('no agent on this machine has a session "nobody"') as string }) // oxfmt-ignore
  })
})
