/** `keep --install` and `--uninstall`: hooks of programs in a home of the test's own, run as the programs run them. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { platform } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { folder, indelible, indelibleProcess } from './indelible.ts'

const noSetsid = leftOutIf(platform() !== 'linux', 'hooks are for Linux')

const newHome = () => {
  const home = mkdtempSync(join(folder, 'install-'))
  const at = (path: string): string => join(home, path)
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true })
    writeFileSync(at(path), text)
  }
  for (const name of ['.claude', '.codex', '.gemini', '.qwen', '.copilot', '.pi/agent'])
    mkdirSync(at(name), { recursive: true })
  const store = at('store dir/sessions.db')
  mkdirSync(dirname(store))
  const run = (...args: readonly string[]) =>
    indelibleProcess(['keep', ...args, '--yes', '--store', store], { env: { HOME: home } })
  return { home, at, write, store, run }
}

interface Settings {
  readonly [field: string]: unknown
  readonly hooks?: {
    readonly [event: string]: readonly {
      readonly bash?: string
      readonly hooks?: readonly { readonly command: string }[]
    }[]
  }
}

const settings = (path: string): Settings => JSON.parse(readFileSync(path, 'utf8')) as Settings

it('adds a hook for each program, and removes exactly these: files are as they were', noSetsid, () => {
  const { at, write, run } = newHome()
  const own =
    '{\n    "model": "opus",\n    "hooks": {\n        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]\n    }\n}'
  write('.claude/settings.json', own)
  write('dotfiles/gemini.json', '{"ui": {"theme": "dark"}}\n')
  symlinkSync(at('dotfiles/gemini.json'), at('.gemini/settings.json'))
  const installed = run('--install')
  expect([installed.status, installed.stdout]).toEqual([
    0,
    expect.stringContaining('Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, pi'),
  ])
  expect(installed.stderr).toContain('Codex runs it once you have trusted it')
  const claude = settings(at('.claude/settings.json'))
  expect(claude['model']).toBe('opus')
  expect(claude.hooks?.['Stop']?.map(({ hooks }) => hooks?.[0]?.command.includes('# indelible keep'))).toEqual([
    false,
    true,
  ])
  expect(Object.keys(settings(at('.codex/hooks.json')).hooks ?? {})).toEqual(['Stop', 'SessionEnd'])
  expect(Object.keys(settings(at('dotfiles/gemini.json')).hooks ?? {})).toEqual(['AfterAgent', 'SessionEnd'])
  expect(Object.keys(settings(at('.copilot/hooks/indelible-keep.json')).hooks ?? {})).toEqual([
    'agentStop',
    'sessionEnd',
  ])
  expect(readFileSync(at('.pi/agent/extensions/indelible-keep.js'), 'utf8')).toContain("pi.on('agent_end', keep)")
  expect(run('--install').stdout).toBe('installed: nothing had to be changed\n')
  const removed = run('--uninstall')
  expect([removed.status, removed.stdout]).toEqual([
    0,
    expect.stringContaining(`the kept sessions stay in ${at('store dir/sessions.db')}`),
  ])
  expect(readFileSync(at('.claude/settings.json'), 'utf8')).toBe(own)
  expect(readFileSync(at('dotfiles/gemini.json'), 'utf8')).toBe('{"ui": {"theme": "dark"}}\n')
  for (const path of ['.codex/hooks.json', '.qwen/settings.json', '.copilot/hooks/indelible-keep.json', '.pi/agent/extensions/indelible-keep.js']) expect(existsSync(at(path))).toBe(false) // oxfmt-ignore
  expect(run('--uninstall').stdout).toContain('nothing was installed')
})

it('keeps what somebody changed since, and leaves alone what is not plain JSON', noSetsid, () => {
  const { at, write, run } = newHome()
  write('.gemini/settings.json', '{\n  // dark\n  "ui": {}\n}\n')
  const installed = run('--install')
  expect(installed.stderr).toContain('settings.json is not plain JSON, so it was not changed')
  const claude = settings(at('.claude/settings.json'))
  write('.claude/settings.json', JSON.stringify({ ...claude, model: 'haiku' }))
  run('--uninstall')
  expect(settings(at('.claude/settings.json'))).toEqual({ model: 'haiku' })
  expect(readFileSync(at('.gemini/settings.json'), 'utf8')).toBe('{\n  // dark\n  "ui": {}\n}\n')
})

it('asks first, and needs a store in a file', () => {
  const { home } = newHome()
  const env = { HOME: home }
  expect(indelible(['keep', '--install'], { env })).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('needs --yes'),
  })
  expect(indelible(['keep', '--install', '--yes', '--store', 'postgres://u@h/d'], { env })).toMatchObject({ status: 2 })
})

it('a hook returns at once, says nothing, and the session is kept with its last answer', noSetsid, async () => {
  const { home, at, write, store, run } = newHome()
  run('--install')
  const id = '00000000-0000-4000-8000-000000000001'
  const entry = (uuid: string, parentUuid: string | null, more: object): string =>
    `${JSON.stringify({ uuid, parentUuid, sessionId: id, version: '2.1.0', timestamp: '2026-11-01T00:00:00Z', ...more })}\n`
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Last.' }],
  }
  write(`.claude/projects/-w/${id}.jsonl`, entry('a', null, { type: 'user', message: { role: 'user', content: 'Look.' } }) + entry('b', 'a', { type: 'assistant', message })) // oxfmt-ignore
  const command = settings(at('.claude/settings.json')).hooks?.['Stop']?.[0]?.hooks?.[0]?.command as string
  // The folder's environment would lead elsewhere, and a password is there to be leaked.
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    INDELIBLE_STORE: at('other.db'),
    CLAUDE_CONFIG_DIR: at('nothing'),
  }
  // The run is repeated some seconds later: here once the file `late` is there.
  const repeated = command.replace('; sleep 5; ', `; until [ -e ${at('late')} ]; do sleep 0.1; done; `)
  expect(repeated).not.toBe(command)
  const hook = spawnSync('/bin/sh', ['-c', repeated], { env, cwd: home, input: '{}', encoding: 'utf8' })
  expect([hook.status, hook.stdout, hook.stderr]).toEqual([0, '', ''])
  const list = () => indelible(['list', '--json', '--store', store], { env: { HOME: home } }).stdout
  await expect.poll(list, { timeout: 60_000, interval: 200 }).toContain('"len":2')
  expect(existsSync(at('other.db'))).toBe(false)
  // A program may write the end of its answer after the hook and its run.
  const late = { ...message, id: 'l', content: [{ type: 'text', text: 'Late.' }] }
  appendFileSync(at(`.claude/projects/-w/${id}.jsonl`), entry('c', 'b', { type: 'assistant', message: late }))
  write('late', '')
  await expect.poll(list, { timeout: 60_000, interval: 200 }).toContain('"len":3')
  const gone = command.replaceAll(process.execPath, '/nowhere/node')
  expect(spawnSync('/bin/sh', ['-c', gone], { env, encoding: 'utf8' }).status).toBe(0)
})

it("the plugin's hook runs keep twice, as that of --install does, and not at all beside that", noSetsid, async () => {
  const { home, at, write } = newHome()
  const script = readFileSync(join(root, 'packages/cli/claude-plugin/hooks/keep.sh'), 'utf8')
  expect(script).toContain(`sh -c '"$@"; sleep 5; exec "$@"' sh`)
  write('bin/indelible', `#!/bin/sh\necho "$* in $INDELIBLE_STORE" >> ${at('runs')}\n`)
  chmodSync(at('bin/indelible'), 0o755)
  const env = { PATH: `${at('bin')}:${process.env['PATH']}`, HOME: home, INDELIBLE_STORE: at('other.db') }
  /** Returns the commands that it ran. */
  const hook = (): string => {
    const args = ['-xc', script.replace('sleep 5', 'sleep 0')]
    const { status, stdout, stderr } = spawnSync('/bin/sh', args, { env, encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, ''])
    return stderr
  }
  expect(hook()).toContain('setsid')
  const runs = (): string => (existsSync(at('runs')) ? readFileSync(at('runs'), 'utf8') : '')
  await expect.poll(runs, { timeout: 60_000, interval: 100 }).toBe('keep in \nkeep in \n')
  write(
    '.claude/settings.json',
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true # indelible keep"}]}]}}',
  )
  expect(hook()).not.toContain('setsid')
})
