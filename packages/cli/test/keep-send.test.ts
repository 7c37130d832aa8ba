/** `keep --to`: the sessions of two machines in one database, without secrets and without the bytes of files. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { startPostgres, noPostgres } from '../../postgres/test/postgres-server.ts'
import { rounds } from '../../../test/rounds.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { environment, indelible, main } from './indelible.ts'
import { id, line, newHome } from './keep-home.ts'

const server = await startPostgres()
const schemas: string[] = []
const { username } = userInfo()
const token = `ghp_${'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6'}`
const name = 'Grace Hopper of Arlington'

const sql = async (text: string): Promise<readonly { readonly [column: string]: unknown }[]> => {
  const client = new Client({ connectionString: server?.url ?? '' })
  await client.connect()
  try {
    return (await client.query(text)).rows as { [column: string]: unknown }[]
  } finally {
    await client.end()
  }
}

/** An empty schema: its address without a password, and the password for the environment. */
const newTarget = () => {
  const address = new URL(server?.url ?? '')
  const schema = `keep_${process.pid}_${schemas.length}`
  schemas.push(schema)
  address.searchParams.set('schema', schema)
  const env = address.password === '' ? {} : { PGPASSWORD: decodeURIComponent(address.password) }
  address.password = ''
  const url = address.href
  return {
    url,
    env,
    /** All texts of rows and blocks. */
    bytes: async (): Promise<string> =>
      JSON.stringify([
        await sql(`select * from ${schema}.row`),
        await sql(`select * from ${schema}.log`),
        (await sql(`select bytes from ${schema}.block`)).map(({ bytes }) => (bytes as Buffer).toString('latin1')),
      ]),
    run: (args: readonly string[], scope = username) =>
      indelible([...args, '--store', url, ...(scope === '' ? [] : ['--scope', scope])], { env }),
  }
}

const machine = (host: string, target: ReturnType<typeof newTarget>) => {
  const home = newHome(host)
  const env = { ...home.env, ...target.env }
  return {
    ...home,
    send: (...more: readonly string[]) =>
      indelible(['keep', '--only', 'claude-code', '--store', home.store, '--to', target.url, ...more], { env }),
  }
}

const sessionsOf = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map(
      (one) => JSON.parse(one) as { id: string; len: number; head: string; metadata: { keptFrom: { head: string }[] } },
    )
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))

describe('keep --to postgres://', leftOutIf(server === undefined, noPostgres), () => {
  afterAll(async () => {
    for (const schema of schemas) await sql(`drop schema if exists ${schema} cascade`)
    await server?.stop()
  })

  it('sends messages without secrets to a scope of the user, and only what has changed', async () => {
    const target = newTarget()
    const here = machine('here', target)
    here.write(`${id(1)}.jsonl`, line(id(1), 0, `The token is ${token}.`) + line(id(1), 1, 'I see.'))
    here.write(`${id(2)}.jsonl`, line(id(2), 0, 'Look.'))
    here.write('other.jsonl', 'no reader reads this\n')
    const first = here.send()
    expect([first.status, first.stderr]).toEqual([0, expect.not.stringContaining('not sent')])
    expect(first.stdout).toContain(`, scope ${username}: 2 sessions without bytes of files   2 new, 1 secret removed\n`)
    expect(first.stdout).toMatch(/\d+ sessions? without messages, not sent: .*other/)
    const all = await target.bytes()
    expect(all).toContain('I see.')
    expect(all).not.toContain(token)
    expect(all).not.toContain('kept_file')
    const before = sessionsOf(target.run(['list', '--json']).stdout)
    expect(here.send().stdout).toContain(`scope ${username}: 2 sessions without bytes of files\n`)
    expect(sessionsOf(target.run(['list', '--json']).stdout)).toEqual(before)
    appendFileSync(here.at(`${id(2)}.jsonl`), line(id(2), 1, 'A cat.'))
    expect(here.send().stdout).toContain('without bytes of files   1 grown\n')
    // The metadata names the head of the source, and a note of the log has it.
    const own = new Map(sessionsOf(here.run('list', '--json').stdout).map((one) => [one.id, one.head]))
    const there = sessionsOf(target.run(['list', '--json']).stdout)
    expect(there.map((one) => [one.id, one.len, one.metadata.keptFrom])).toEqual([
      [id(1), 2, [{ host: 'here', user: username, session: id(1), head: own.get(id(1)) }]],
      [id(2), 2, [{ host: 'here', user: username, session: id(2), head: own.get(id(2)) }]],
    ])
    expect(target.run(['export', id(2), '--to', 'indelible']).stdout).toContain('"type":"metadata"')
    expect(target.run(['verify', '--all', '--deep']).status).toBe(0)
    expect(target.run(['list'], '').stderr).toContain(username)
  })

  it('no secret of a path, a name, a title or an argument is sent, nor one that is the id of a session', async () => {
    const target = newTarget()
    const here = machine('here', target)
    const place = { cwd: `/home/${token}/w`, gitBranch: token }
    const at = (number: number, more: object): string => `${JSON.stringify({ ...(JSON.parse(line(id(1), number, 'Look.')) as object), ...place, ...more })}\n` // oxfmt-ignore
    const content = [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: `curl ${token}`, [token]: 1 } }]
    const answer = {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      model: `m-${token}`,
      stop_reason: 'tool_use',
      content,
    }
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: token }] }
    here.write(
      `${id(1)}.jsonl`,
      at(0, {}) + at(1, { message: answer }) + at(2, { message: result, toolUseResult: { stdout: token, file: { filePath: token } } }) + `${JSON.stringify({ type: 'custom-title', customTitle: `Title ${token}`, sessionId: id(1) })}\n`, // oxfmt-ignore
    )
    here.write(`${token}.jsonl`, line('x', 0, 'Look.').replace('"sessionId":"x",', ''))
    here.write(`../${token}/${id(2)}.jsonl`, line(id(2), 0, 'Look.'))
    here.write(`${id(1)}/subagents/agent-${token}.jsonl`, line(id(1), 0, 'Look.').replace('"version"', `"isSidechain":true,"agentId":"${token}","version"`)) // oxfmt-ignore
    expect(here.send().status).toBe(0)
    expect(await target.bytes()).not.toContain(token)
    const ids = sessionsOf(target.run(['list', '--json']).stdout).map((one) => one.id)
    expect(ids).toHaveLength(4)
    expect(here.send().stdout).toMatch(/4 sessions without bytes of files\n/)
    // An erasure finds the session that has another id there.
    const own = sessionsOf(here.run('list', '--json').stdout).find((one) => one.id.startsWith('ghp'))?.id ?? ''
    expect(here.run('erase', own, '0', '--yes').status).toBe(0)
    expect(here.send().stdout).toContain('1 message erased')
  })

  it('a session that has grown on two machines becomes a fork that says so', () => {
    const target = newTarget()
    const [a, b] = [machine('laptop', target), machine('desk', target)]
    const begun = line(id(1), 0, 'Look.') + line(id(1), 1, 'A cat.')
    for (const each of [a, b]) each.write(`${id(1)}.jsonl`, begun)
    expect(a.send('--shared').stdout).toContain('scope default: 1 session without bytes of files   1 new')
    expect(b.send('--shared').stdout).toContain('1 grown')
    const lens = () => Object.fromEntries(sessionsOf(target.run(['list', '--json'], '').stdout).map((each) => [each.id, each.len])) // oxfmt-ignore
    expect(lens()).toEqual({ [id(1)]: 2 })
    appendFileSync(a.at(`${id(1)}.jsonl`), line(id(1), 2, 'And a dog?'))
    a.send('--shared')
    appendFileSync(b.at(`${id(1)}.jsonl`), line(id(1), 2, 'And a horse?'))
    const forked = b.send('--shared')
    expect(forked.stdout).toContain(`${id(1)} has grown on ${username}@laptop and on ${username}@desk: continued in the fork ${id(1)}-2`) // oxfmt-ignore
    expect(lens()).toEqual({ [id(1)]: 3, [`${id(1)}-2`]: 3 })
    expect(target.run(['export', `${id(1)}-2`, '--to', 'indelible'], '').stdout).toContain(`This session has grown on ${username}@laptop`) // oxfmt-ignore
    for (const each of [a, b, a]) expect(each.send('--shared').stdout).toMatch(/bytes of files\n/)
    appendFileSync(b.at(`${id(1)}.jsonl`), line(id(1), 3, 'Three.'))
    b.send('--shared')
    expect(lens()).toEqual({ [id(1)]: 3, [`${id(1)}-2`]: 4 })
    // Lists and searches show and filter machines.
    expect(target.run(['list', '--where', 'host=laptop', '--json'], '').lines.filter(Boolean)).toHaveLength(1)
    expect(target.run(['list', '--where', 'host=desk'], '').stdout).toContain(`[${username}@desk]`)
    expect(target.run(['list', '--where', `user=${username}`, '--where', 'program=claude-code', '--json'], '').lines.filter(Boolean)).toHaveLength(2) // oxfmt-ignore
    const found = target.run(['search', 'dog horse cat', '--question', '--where', 'host=laptop', '--json'], '').stdout
    expect(found).toContain('dog')
    expect(found).not.toContain('horse')
    expect(target.run(['search', 'horse', '--where', 'host=laptop'], '').stdout).toBe('')
    expect(target.run(['search', 'horse', '--where', 'host=desk'], '').stdout).toContain('And a horse?')
    expect(target.run(['search', 'horse', '--where', 'host=desk'], '').stdout).toContain(`${username}@desk`)
  })

  it('what was erased here is erased there, and does not come back from another machine', async () => {
    const target = newTarget()
    const [a, b] = [machine('laptop', target), machine('desk', target)]
    const text = line(id(1), 0, 'Look.') + line(id(1), 1, `I am ${name}.`) + line(id(1), 2, 'Good.')
    for (const each of [a, b]) each.write(`${id(1)}.jsonl`, text)
    a.send()
    b.send()
    expect(await target.bytes()).toContain(name)
    expect(a.run('erase', id(1), '1', '--yes').status).toBe(0)
    expect(a.send().stdout).toContain('1 message erased')
    expect(await target.bytes()).not.toContain(name)
    appendFileSync(b.at(`${id(1)}.jsonl`), line(id(1), 3, 'And now?'))
    expect(b.send().status).toBe(0)
    expect(a.send().stdout).not.toContain('erased')
    expect(await target.bytes()).not.toContain(name)
    expect(sessionsOf(target.run(['list', '--json']).stdout).map(({ len }) => len)).toEqual([4])
    // Removed there: skipped until it is named.
    expect(target.run(['remove', id(1), '--yes']).status).toBe(0)
    appendFileSync(a.at(`${id(1)}.jsonl`), line(id(1), 3, 'Yes.'))
    a.send()
    expect(target.run(['list', '--json']).stdout).toBe('')
    a.send('--again', id(1))
    expect(sessionsOf(target.run(['list', '--json']).stdout).map(({ len }) => len)).toEqual([3])
    expect(await target.bytes()).not.toContain(name)
    // Erased here before this machine sent it; the other one had sent it.
    for (const each of [a, b])
      each.write(
        `${id(3)}.jsonl`,
        ['See.', `It is ${name}.`, 'Fine.'].map((each, at) => line(id(3), at, each, 50 + at)).join(''),
      )
    a.keep()
    a.run('erase', id(3), '1', '--yes')
    b.send('--shared')
    expect(a.send('--shared').stdout).toContain('2 messages erased')
    appendFileSync(b.at(`${id(3)}.jsonl`), line(id(3), 3, 'And then?', 53))
    b.send('--shared')
    expect(await target.bytes()).not.toContain(name)
    const shared = sessionsOf(target.run(['list', '--json'], '').stdout).filter((each) => each.id.startsWith(id(3)))
    expect(shared.map(({ len }) => len)).toEqual([4])
    // Erased and removed here before it was sent.
    a.write(`${id(2)}.jsonl`, line(id(2), 0, `Ask ${name}.`) + line(id(2), 1, 'Yes.'))
    a.keep()
    a.run('erase', id(2), '0', '--yes')
    a.send()
    expect(await target.bytes()).not.toContain(name)
  })

  it('takes no password, reports what was not sent, and keeps the sessions all the same', () => {
    const target = newTarget()
    const here = machine('here', target)
    here.write(`${id(1)}.jsonl`, line(id(1), 0, 'Look.'))
    const refused = here.keep('--to', 'postgres://ann:hush@db.example.com/agents')
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('PGPASSWORD')])
    expect(refused.stderr).not.toContain('hush')
    for (const more of [['--shared'], ['--to', target.url, '--dry-run'], ['--to', here.store], ['--to', '']])
      expect(here.keep(...more).status).toBe(2)
    const failed = here.keep('--to', 'postgres://ann@127.0.0.1:1/agents')
    expect([failed.status, failed.stderr]).toEqual([1, expect.stringContaining('not sent to postgres://ann@127.0.0.1:1/agents')]) // oxfmt-ignore
    expect(here.run('list').stderr).toContain('not sent to postgres://ann@127.0.0.1:1/agents')
    expect(here.run('show', id(1)).stdout).toContain('Look.')
    expect(here.send().status).toBe(0)
    expect(here.run('list').stderr).not.toContain('not sent')
  })

  it('a run that is killed at any moment sends nothing twice', async () => {
    const target = newTarget()
    const here = machine('here', target)
    for (let number = 0; number < 20; number++)
      here.write(`${id(number)}.jsonl`, line(id(number), 0, 'Look.') + line(id(number), 1, 'A cat.'))
    here.keep()
    for (let round = 0; round < rounds(3, 40); round++) {
      const args = ['keep', '--only', 'claude-code', '--store', here.store, '--to', target.url]
      const child = spawn(process.execPath, [main, ...args], { env: environment({ env: { ...here.env, ...target.env } }), stdio: 'ignore' }) // oxfmt-ignore
      setTimeout(() => child.kill('SIGKILL'), 300 + (round % 10) * 60)
      await once(child, 'exit')
    }
    expect(here.send().status).toBe(0)
    const listed = sessionsOf(target.run(['list', '--json']).stdout)
    expect(listed.map((one) => [one.len, one.metadata.keptFrom.length])).toEqual(
      Array.from({ length: 20 }, () => [2, 1]),
    )
    expect(target.run(['verify', '--all', '--deep']).status).toBe(0)
  }, 120_000)

  it.each(['claude-code', 'codex', 'gemini', 'pi'])(
    'continue writes it for %s on a machine where that never ran',
    (program) => {
      const target = newTarget()
      const [a, b] = [machine('laptop', target), newHome('desk')]
      a.write(`${id(1)}.jsonl`, line(id(1), 0, 'Look at the cat.') + line(id(1), 1, 'A cat.'))
      a.send()
      const command = { 'claude-code': 'claude' }[program] ?? program
      mkdirSync(join(b.home, 'bin'))
      writeFileSync(join(b.home, 'bin', command), '#!/bin/sh\n', { mode: 0o755 })
      const env = { ...b.env, ...target.env, PATH: `${join(b.home, 'bin')}:${process.env['PATH']}` }
      const args = ['continue', id(1), '--in', program, '--store', target.url, '--scope', username, '--print']
      const done = indelible(args, { env, cwd: b.home })
      expect([done.status, done.stderr]).toEqual([0, expect.stringContaining(`written for ${program}`)])
      const written = (readdirSync(b.home, { recursive: true }) as string[]).filter((path) => /\.jsonl?$/.test(path))
      expect(written.map((path) => readFileSync(join(b.home, path), 'utf8')).join('')).toContain('Look at the cat.')
    },
  )
})
