/** `indelible rerun`: a real program, answered from the record of its first run. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { providerServer, type ProviderServer, type Reply, type Request } from '../../../test/run/provider-server.ts'
import { openSession } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { copyFolder } from '../src/rerun/folder-copy.ts'
import { indelible, indelibleAside, type CommandEnded } from './indelible.ts'

const agent = join(root, 'packages/cli/test/rerun-agent.ts')

let place: string
let work: string
let store: string
let server: ProviderServer
let home: string
/** Where copies of folders are made. */
let temporary: string

/** A question about a file is answered with a call that writes it, anything else with a text. */
const reply = ({ body }: Request): Reply => {
  const messages = body['messages'] as readonly { readonly role: string; readonly content: string }[]
  const last = messages.at(-1)
  const path = last?.role === 'user' ? /write (\S+)/.exec(last.content)?.[1] : undefined
  const call = path && {
    id: `call_${messages.length}`,
    type: 'function',
    function: { name: 'write', arguments: JSON.stringify({ path, text: 'written' }) },
  }
  const message = {
    role: 'assistant',
    content: call ? 'I write it.' : `heard ${messages.length}`,
    ...(call && { tool_calls: [call] }),
  }
  return {
    body: { id: `c${messages.length}`, model: body['model'], choices: [{ index: 0, finish_reason: 'stop', message }] },
  }
}

beforeEach(async () => {
  place = mkdtempSync(join(tmpdir(), 'indelible-rerun-test-'))
  ;[work, store, home] = [join(place, 'work'), join(place, 'store.db'), join(place, 'home')]
  temporary = join(place, 'tmp')
  mkdirSync(work)
  mkdirSync(temporary)
  server = await providerServer(reply)
})
afterEach(() => server.close())

const env = (more: { readonly [name: string]: string } = {}): { readonly [name: string]: string } => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  TMPDIR: temporary,
  OPENAI_BASE_URL: `${server.url}/v1`,
  ...more,
})

/** The agent's questions as COMMAND. It says nothing. */
const command = (...questions: readonly string[]): readonly string[] => [
  // The thread of a test has the folder of all tests.
  ...['--', '/bin/sh', '-c', 'cd "${WORK:-.}" && exec "$0" "$@" > /dev/null 2>&1', process.execPath],
  ...[agent, ...questions],
]

/** Record the agent, and return the id of its session. */
const record = async (...questions: readonly string[]): Promise<string> => {
  const { status, stderr } = await indelibleAside(['record', '--store', store, ...command(...questions)], {
    env: env({ WORK: work }),
    cwd: work,
  })
  expect([status, stderr]).toEqual([0, expect.stringContaining('recorded:')])
  return /indelible show (\S+)/.exec(stderr)?.[1] ?? ''
}

const rerun = (
  options: readonly string[],
  questions: readonly string[],
  more: { readonly [name: string]: string } = {},
): Promise<CommandEnded> =>
  indelibleAside(['rerun', '--store', store, ...options, ...command(...questions)], { env: env(more), cwd: work })

/** Whether a process runs. One that has ended may still be listed, if nobody waits for it. */
const isRunning = (pid: number): boolean =>
  !/^(?:Z.*)?$/.test(spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim())

describe('indelible rerun', () => {
  it('answers a program from its record, in a copy of its folder, and calls no provider', async () => {
    const id = await record('write note.txt', 'and then?')
    expect(readFileSync(join(work, 'note.txt'), 'utf8')).toBe('written')
    writeFileSync(join(work, 'note.txt'), 'mine')
    const before = server.requests.length
    const { status, stderr } = await rerun([id, '--yes'], ['write note.txt', 'and then?'])
    expect([status, stderr]).toEqual([0, expect.stringContaining('3 of 3 calls as recorded\n')])
    expect(stderr).toContain('write {"path":"note.txt","text":"written"}')
    expect(stderr).toContain('not compared: folder')
    expect(readFileSync(join(work, 'note.txt'), 'utf8')).toBe('mine')
    expect(server.requests).toHaveLength(before)
    expect(readdirSync(temporary)).toEqual([])
  })

  it('changes the folder itself with --here', async () => {
    const id = await record('write note.txt')
    writeFileSync(join(work, 'note.txt'), 'mine')
    const { status, stderr } = await rerun([id, '--yes', '--here'], ['write note.txt'])
    expect([status, stderr]).toEqual([0, expect.stringContaining('2 of 2 calls as recorded\n')])
    expect(stderr).not.toContain('not compared')
    expect(readFileSync(join(work, 'note.txt'), 'utf8')).toBe('written')
  })

  it('writes to the copy where the recorded answer names the folder', async () => {
    const path = join(work, 'note.txt')
    const id = await record(`write ${path}`)
    writeFileSync(path, 'mine')
    const { status, stderr } = await indelibleAside(
      [
        'rerun',
        id,
        '--store',
        store,
        '--yes',
        '--',
        '/bin/sh',
        '-c',
        '"$0" "$1" "write $PWD/note.txt" > /dev/null',
        process.execPath,
        agent,
      ],
      { env: env(), cwd: work },
    )
    expect([status, stderr]).toEqual([0, expect.stringContaining('2 of 2 calls as recorded\n')])
    expect(readFileSync(path, 'utf8')).toBe('mine')
  })

  it('ends the program at the first call that is not as recorded, with the difference', async () => {
    const id = await record('write note.txt', 'and then?', 'and at last?')
    const begun = Date.now()
    const { status, stderr } = await rerun([id, '--yes'], ['write note.txt', 'and now?', 'and at last?'], {
      LINGERS: '60000',
    })
    expect(status).toBe(1)
    expect(Date.now() - begun).toBeLessThan(50_000)
    expect(stderr).toMatch(/recorded: .*and then\?/)
    expect(stderr).toMatch(/sent: .*and now\?/)
    expect(stderr).toContain('2 of 4 calls as recorded\n')
  })

  it('ends what the program has started, too: a shell that ignores a SIGTERM, and an agent that goes on', async () => {
    const id = await record('one')
    const inner = `trap '' TERM; echo $$ > "$PIDS"; "$0" "$@" 2> /dev/null & echo $! >> "$PIDS"; wait; sleep 300 & echo $! >> "$PIDS"; wait`
    const pids = join(place, 'pids')
    const outer = ['/bin/sh', '-c', '/bin/sh -c "$0" "$@"; true', inner]
    const { status, stderr } = await indelibleAside(
      ['rerun', id, '--store', store, '--', ...outer, process.execPath, agent, 'two'],
      { env: env({ PIDS: pids, LINGERS: '300000' }), cwd: work },
    )
    expect([status, stderr]).toEqual([1, expect.stringContaining('0 of 1 call as recorded\n')])
    const started = readFileSync(pids, 'utf8').trim().split('\n').map(Number)
    const left = started.filter((pid) => isRunning(pid))
    for (const pid of left) process.kill(pid, 'SIGKILL')
    expect(started.length).toBeGreaterThanOrEqual(2)
    expect(left).toEqual([])
  })

  it('fails for recorded calls that were never asked', async () => {
    const id = await record('one', 'two')
    const { status, stderr } = await rerun([id], ['one'])
    expect([status, stderr]).toEqual([1, expect.stringContaining('1 of 2 calls as recorded\n')])
    expect(stderr).toContain('1 recorded call was never asked')
  })

  it('compares dates, unless they are ignored', async () => {
    const id = await record('one')
    const later = { TODAY: '2027-11-30' }
    const strict = await rerun([id], ['one'], later)
    expect([strict.status, strict.stderr]).toEqual([1, expect.stringContaining('2027-11-30')])
    const loose = await rerun([id, '--ignore', 'dates'], ['one'], later)
    expect([loose.status, loose.stderr]).toEqual([0, expect.stringContaining('not compared: dates, folder')])
  })

  it('asks before tool calls are executed, and refuses where nobody can be asked', async () => {
    const id = await record('write note.txt')
    const { status, stderr } = await rerun([id], ['write note.txt'])
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining('rerun needs --yes, because there is no terminal to ask'),
    ])
    expect(server.requests).toHaveLength(2)
  })

  it('needs --trust-session for a session of another machine, and for one that changed since', async () => {
    const id = await record('one')
    const [mine, elsewhere] = [home, join(place, 'elsewhere')]
    home = elsewhere
    const strange = await rerun([id], ['one'])
    expect([strange.status, strange.stderr]).toEqual([
      1,
      expect.stringContaining(`session ${id} was not recorded on this machine`),
    ])
    expect((await rerun([id, '--trust-session'], ['one'])).status).toBe(0)
    home = mine
    expect((await rerun([id], ['one'])).status).toBe(0)
    expect(indelible(['note', id, 'looked at', '--store', store]).status).toBe(0)
    expect((await rerun([id], ['one'])).stderr).toContain('or has changed since')
  })

  it('with --from sends the later calls to the provider, and records them as a fork', async () => {
    const id = await record('one', 'two', 'three')
    const before = server.requests.length
    const { status, stderr } = await rerun([id, '--from', '2', '--model', 'gpt-y'], ['one', 'two', 'four'])
    expect([status, stderr]).toEqual([0, expect.stringContaining('2 calls from call 2 on went to the provider')])
    expect(server.requests.slice(before).map(({ body }) => body['model'])).toEqual(['gpt-y', 'gpt-y'])
    const fork = /recorded as (\S+)/.exec(stderr)?.[1] as string
    const opened = await sqliteStore({ path: store })
    const session = await openSession(opened, fork)
    expect(session.forkedFrom).toEqual({ id, at: 4 })
    expect(JSON.stringify([...session.conversation()])).toContain('four')
    await opened.close()
    expect(indelible(['diff', id, fork, '--store', store]).stdout).toContain('four')
  })

  it('leaves no fork if the call of --from is not reached', async () => {
    const id = await record('one', 'two')
    const { status, stderr } = await rerun([id, '--from', '2'], ['other', 'two'])
    expect([status, stderr]).toEqual([1, expect.stringContaining('call 2 was not asked, so nothing was recorded')])
    expect(indelible(['list', '--json', '--store', store]).lines.filter(Boolean)).toHaveLength(1)
    expect((await rerun([id, '--from', '9'], ['one'])).stderr).toContain('has 2 recorded calls, so it has no call 9')
  })

  it.each([
    [[], 'rerun needs a SESSION, and a COMMAND after --'],
    [
      ['x', '--ignore', 'dates,times', '--', 'true'],
      '--ignore takes results, system, tools, model, parameters, dates, folder, not "times"',
    ],
    [['x', '--model', 'm', '--', 'true'], '--model goes with --from N'],
    [['x', '--from', '0', '--', 'true'], '--from takes a whole number from 1'],
  ])('refuses %j', (args, reason) => {
    const { status, stderr } = indelible(['rerun', '--store', store, ...args], { env: env() })
    expect([status, stderr]).toEqual([2, expect.stringContaining(reason)])
  })

  it('says what a program that can not be run is, and removes its copy', async () => {
    const id = await record('one')
    const { status, stderr } = await indelibleAside(['rerun', id, '--store', store, '--', 'no-such-program'], {
      env: env(),
      cwd: work,
    })
    expect([status, stderr]).toEqual([127, expect.stringContaining('no-such-program')])
    expect(readdirSync(temporary)).toEqual([])
  })
})

describe('the copy of a folder', () => {
  it('has its files, folders and links; a link into the folder leads into the copy', async () => {
    mkdirSync(join(work, 'deep/er'), { recursive: true })
    writeFileSync(join(work, 'deep/er/file'), 'text', { mode: 0o755 })
    symlinkSync(join(work, 'deep'), join(work, 'absolute'))
    symlinkSync('deep/er/file', join(work, 'relative'))
    symlinkSync(place, join(work, 'outside'))
    const { path, remove } = await copyFolder(work)
    writeFileSync(join(path, 'absolute/er/file'), 'other')
    expect(readFileSync(join(work, 'deep/er/file'), 'utf8')).toBe('text')
    expect(readFileSync(join(path, 'relative'), 'utf8')).toBe('other')
    expect(existsSync(join(path, 'outside/work'))).toBe(true)
    remove()
    expect([existsSync(path), existsSync(join(work, 'deep/er/file')), existsSync(work)]).toEqual([false, true, true])
  })

  it('is refused for too many bytes or entries', async () => {
    for (const name of ['a', 'b', 'c']) writeFileSync(join(work, name), 'x'.repeat(100))
    await expect(copyFolder(work, { bytes: 250, entries: 9 })).rejects.toThrow('too much to copy')
    await expect(copyFolder(work, { bytes: 999, entries: 2 })).rejects.toThrow('more than 2 files')
    await expect(copyFolder(join(work, 'none'))).rejects.toThrow("can't be read")
  })
})
