/**
 * Sessions of five agents, each continued in each other by `indelible continue`, those of their sub-agents, and those of
 * `bricks.ts`, which their own agent refuses or shortens, as is seen here first. A provider on loopback refuses what real ones refuse, and has to be sent exactly the conversation, but
 * for what each agent adds by itself. Prints JSON: a line for each continuation. Started by `run.ts` where there is no way
 * out.
 */
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { mend, settle, type Message } from 'indelible'
import { codecs } from 'indelible/codecs'
import { readTranscript } from '@indelible/transcripts'
import { readTranscriptDatabase } from '@indelible/transcripts/sqlite'
import { providerServer, type Reply, type Request } from '../test/run/provider-server.ts'
import { agents } from './agents.ts'
import { bricks, standIn, type Brick } from './bricks.ts'
import { scripted } from './scripted.ts'

/** What became of one continuation. */
export interface Continuation {
  readonly from: string
  readonly in: string
  readonly seconds: number
  readonly wrong: readonly string[]
}

const [folder = ''] = process.argv.slice(2)
const home = join(folder, 'home')
const work = join(folder, 'work')
const bin = join(folder, 'bin')
for (const path of [home, work, bin]) mkdirSync(path, { recursive: true })
const main = join(import.meta.dirname, '../packages/cli/dist/bin/main.js')

/** The conversation of a request; undefined of one that is none. */
const conversationOf = ({ path, body }: Request): readonly Message[] | undefined => {
  const place = path.replace(/\?.*$/, '')
  const decoded = place.endsWith('/messages')
    ? codecs.anthropic.decode({ system: body['system'] ?? [], messages: body['messages'] })
    : place.endsWith('/responses') && Array.isArray(body['input'])
      ? codecs['openai-responses'].decode(body['input'])
      : place.endsWith('/chat/completions')
        ? codecs['openai-chat'].decode(body['messages'])
        : place.includes('enerateContent')
          ? codecs.gemini.decode(body['contents'])
          : undefined
  if (decoded === undefined) return undefined
  if (isLeft(decoded)) throw new Error(`${place}: ${JSON.stringify(decoded.left)}`)
  return decoded.right.messages
}

/** What real providers refuse: calls without results, results without calls, ids that are used twice. */
const refusal = (request: Request): Reply | undefined => {
  const conversation = conversationOf(request)
  const settled = conversation && settle(conversation)
  if (settled === undefined || !isLeft(settled)) return undefined
  const message = JSON.stringify(settled.left.problems.slice(0, 3))
  return {
    status: 400,
    body: { error: { type: 'invalid_request_error', code: 400, status: 'INVALID_ARGUMENT', message } },
  }
}

/** What each agent adds by itself: instructions, reminders, its surroundings. */
const isAdded = (text: string): boolean =>
  /^\s*(?:<(system-reminder|environment_context|session_context|permissions instructions|skills_instructions)>[\s\S]*<\/\1>|# AGENTS\.md instructions[\s\S]*)\s*$/.test(
    text,
  )

/**
 * What is said, called and answered, in order. Ids are numbers in the order of the calls. The results of parallel calls are in
 * that order, too: an agent writes them as they come in, and a continuation has each with its call.
 */
const sayingsOf = (messages: readonly Message[]): readonly string[] => {
  const ids = new Map<string, number>()
  const idOf = (id: string): number => ids.get(id) ?? (ids.set(id, ids.size), ids.size - 1)
  const sayings = messages.flatMap(({ role, content }) => {
    if (role === 'system' || role === 'developer') return []
    return content.flatMap((part): readonly string[] => {
      switch (part.type) {
        case 'text':
          return isAdded(part.text) || part.text.trim() === '' ? [] : [part.text.trim()]
        case 'reasoning':
          return []
        case 'tool_call':
          return [`call ${idOf(part.id)} ${part.name} ${JSON.stringify(jsonIn(part.arguments))}`]
        case 'tool_result': {
          const texts = part.content.map((resultPart) =>
            resultPart.type === 'text' ? resultPart.text : resultPart.type,
          )
          return [`result ${idOf(part.callId)} ${texts.join('\n').trim()}`]
        }
        case 'image':
          return ['data' in part.source ? `image ${part.source.data}` : 'image']
        case 'provider':
          return wordsOfAgent(part.raw)
        default:
          return []
      }
    })
  })
  const callOf = (saying: string | undefined): number | undefined => {
    const found = /^result (\d+) /.exec(saying ?? '')?.[1]
    return found === undefined ? undefined : Number(found)
  }
  for (let from = 0, end = 0; from < sayings.length; from = Math.max(end, from + 1)) {
    for (end = from; callOf(sayings[end]) !== undefined;) end++
    const results = sayings.slice(from, end).toSorted((a, b) => (callOf(a) ?? 0) - (callOf(b) ?? 0))
    sayings.splice(from, results.length, ...results)
  }
  return sayings
}

/** What an agent of Codex says to another, which is an item of its own there. */
const wordsOfAgent = (raw: unknown): readonly string[] => {
  const { type, content } = raw as { readonly type?: string; readonly content?: readonly { readonly text?: string }[] }
  return type === 'agent_message' ? (content ?? []).flatMap(({ text }) => text?.trim() || []) : []
}

/** The arguments of a call. Where an agent writes no object, as Codex does, the others have it in a field of one. */
const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return { input: text }
  }
}

const requests: Request[] = []
const provider = await providerServer((request) => {
  requests.push(request)
  if (process.env['CLIENTS_WIRE'] !== undefined)
    writeFileSync(join(folder, 'wire.jsonl'), `${JSON.stringify(request)}\n`, { flag: 'a' })
  return refusal(request) ?? scripted(request)
})

/** An agent, and how it is asked on a session that exists. */
interface Program {
  readonly name: string
  readonly command: string
  readonly program: string | undefined
  readonly ask: (question: string) => readonly string[]
  /** Its arguments for a question in the session that was the last. */
  readonly more: (question: string) => readonly string[]
  /** Its arguments after those by which it resumes a session. */
  readonly resume: (id: string, question: string) => readonly string[]
  readonly files: string
}

const agentOf = (name: string): (typeof agents)[number] => {
  const found = agents.find((agent) => agent.name === name)
  if (found === undefined) throw new Error(`there is no agent ${name}`)
  return found
}
const withAddress = (args: readonly string[]): readonly string[] =>
  args.map((arg) => arg.replace('{OPENAI_BASE_URL}', `${provider.url}/v1`))
const asked = (name: string) => ({
  ask: (question: string) => withAddress(agentOf(name).ask(question, false)),
  more: (question: string) => withAddress(agentOf(name).ask(question, true)),
})
const gemini = ['-m', 'gemini-2.5-pro', '--approval-mode', 'yolo', '--skip-trust', '-p']
const codex = [
  '--skip-git-repo-check',
  '--dangerously-bypass-approvals-and-sandbox',
  '-c',
  `openai_base_url=${provider.url}/v1`,
  '-c',
  'analytics.enabled=false', // without a way out it waits 5 s for them at its end
]
const pi = ['-p', '--provider', 'scripted', '--model', 'gpt-5.2']

const programs: readonly Program[] = [
  {
    name: 'claude-code',
    command: 'claude',
    program: agentOf('Claude Code').program(),
    ...asked('Claude Code'),
    resume: (id, question) => ['-p', '--resume', id, question],
    files: '.claude/projects/**/*.jsonl',
  },
  {
    name: 'codex',
    command: 'codex',
    program: agentOf('Codex').program(),
    ...asked('Codex'),
    resume: (id, question) => ['exec', 'resume', id, ...codex, question],
    files: '.codex/sessions/*/*/*/*.jsonl',
  },
  {
    name: 'gemini',
    command: 'gemini',
    program: agentOf('Gemini CLI').program(),
    ...asked('Gemini CLI'),
    resume: (id, question) => ['-r', id, ...gemini, question],
    files: '.gemini/tmp/*/chats/**/*.json*',
  },
  {
    name: 'opencode',
    command: 'opencode',
    program: agentOf('opencode').program(),
    ...asked('opencode'),
    resume: (id, question) => ['run', '-s', id, question],
    files: '.local/share/opencode/opencode.db',
  },
  {
    name: 'pi',
    command: 'pi',
    program: globSync(join(import.meta.dirname, 'node_modules/.bin/pi'))[0],
    ask: (question) => [...pi, question],
    more: (question) => [...pi, '-c', question],
    resume: (id, question) => [...pi, '--session', id, question],
    files: '.pi/agent/sessions/*/*.jsonl',
  },
]

for (const name of ['Gemini CLI', 'opencode']) agentOf(name).prepare?.({ home, work }, provider.url)
mkdirSync(join(home, '.pi/agent'), { recursive: true })
for (const name of ['.claude', '.codex']) mkdirSync(join(home, name), { recursive: true })
const model = {
  id: 'gpt-5.2',
  name: 'scripted',
  reasoning: false,
  input: ['text', 'image'],
  contextWindow: 100_000,
  maxTokens: 1000,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
}
const ofPi = { baseUrl: `${provider.url}/v1`, api: 'openai-completions', apiKey: 'none', models: [model] }
writeFileSync(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { scripted: ofPi } }))
const config = join(work, 'opencode.json')
const images = { attachment: true, modalities: { input: ['text', 'image'], output: ['text'] } }
writeFileSync(
  config,
  readFileSync(config, 'utf8').replace('"limit":', `${JSON.stringify(images).slice(1, -1)},"limit":`),
)
writeFileSync(join(work, 'note.txt'), 'first:alpha\nsecond:beta\n')
for (const { command, program } of programs)
  if (program !== undefined) symlinkSync(realpathSync(program), join(bin, command))

const env = {
  PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
  HOME: home,
  ...Object.assign({}, ...agents.map((agent) => agent.env)),
  PI_OFFLINE: '1',
  OPENAI_BASE_URL: `${provider.url}/v1`,
  OPENAI_API_KEY: 'none',
  ANTHROPIC_BASE_URL: provider.url,
  ANTHROPIC_API_KEY: 'none',
  GOOGLE_GEMINI_BASE_URL: provider.url,
}

const run = (
  command: string,
  args: readonly string[],
  cwd: string = work,
): Promise<{ readonly code: number; readonly out: string; readonly all: string }> =>
  new Promise((resolve) => {
    const options = { cwd, env, encoding: 'utf8', timeout: 300_000, maxBuffer: 1 << 26 } as const // ends a hang
    const child = execFile(command, args, options, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, all: `${out}${err}` }),
    )
    child.stdin?.end()
  })

/** A conversation, and the file that it is read from. */
interface Source {
  readonly from: string
  readonly path: string
  readonly messages: readonly Message[]
  /** Which conversation of a database it is. */
  readonly pick?: number
  /** What has to be sent of it. Default: what is read of the file. */
  readonly said?: readonly string[]
}

const sourceAt = (from: string, path: string, pick = 0): Source => {
  const read = path.endsWith('.db') ? readTranscriptDatabase(path, { pick }) : readTranscript(readFileSync(path))
  if (isLeft(read)) throw new Error(`${path}: ${JSON.stringify(read.left)}`)
  return { from, path, pick, messages: mend(read.right.messages).messages as readonly Message[] }
}

/** How many conversations a database has. */
const countIn = (path: string): number => {
  const read = readTranscriptDatabase(path)
  return isLeft(read) ? 1 : read.right.count
}

/** A copy: that of opencode gets more sessions, and the others must stay as they are. */
const copied = (path: string, name: string): string => {
  const copy = join(folder, `${name}-${basename(path)}`)
  writeFileSync(copy, readFileSync(path))
  if (path.endsWith('.db')) for (const log of globSync(`${path}-wal`)) writeFileSync(`${copy}-wal`, readFileSync(log))
  return copy
}

/** What a program has written until now. Gemini CLI leaves a file without a conversation where it resumes one. */
const filesOf = ({ files }: Program): readonly string[] =>
  globSync(join(home, files)).toSorted((a, b) => statSync(b).size - statSync(a).size)

const askedOrThrow = async ({ name, program }: Program, args: readonly string[]): Promise<void> => {
  if (program === undefined) throw new Error(`${name} is not installed`)
  const { code, all } = await run(program, args)
  if (code !== 0) throw new Error(`${name}: exit code ${code}: ${all.slice(-1000)}`)
}

/** A session of an agent that has used a tool. Gemini CLI can't continue its own after that. */
const makeSession = async (program: Program): Promise<Source & { readonly own: string }> => {
  await askedOrThrow(program, program.ask('Hello.'))
  await askedOrThrow(program, program.more('Please read note.txt and tell me its second word.'))
  if (program.name !== 'gemini') await askedOrThrow(program, program.more('Please read note.txt again.'))
  const [own] = filesOf(program)
  if (own === undefined) throw new Error(`${program.name} has left no file`)
  return { ...sourceAt(program.name, copied(own, program.name)), own }
}

/** A session in which an agent has asked two others, and the sessions of those. */
const withHelpers = async (program: Program): Promise<readonly Source[]> => {
  await askedOrThrow(program, program.ask('Please let two helpers read it for you.'))
  const all = filesOf(program).flatMap((path) => {
    const copy = copied(path, `${program.name}-helpers`)
    return Array.from({ length: path.endsWith('.db') ? countIn(copy) : 1 }, (_, pick) =>
      sourceAt(program.name, copy, pick),
    )
  })
  const named = (name: string, from: string): Source => {
    const own = all.filter(({ messages }) => {
      const text = JSON.stringify(messages)
      return name === 'two helpers' ? text.includes(name) : text.includes(name) && !text.includes('two helpers')
    })
    if (own.length !== 1) throw new Error(`${program.name}: ${name} is in ${own.length} sessions`)
    return { ...(own[0] as Source), from: `${program.name}: ${from}` }
  }
  return [
    named('two helpers', 'with sub-agents'),
    named('helper left', 'a sub-agent'),
    named('helper right', 'another sub-agent'),
  ]
}

let count = 0

const continued = async (source: Source, { name, command, resume }: Program, cwd = work): Promise<Continuation> => {
  const begun = Date.now()
  const wrong: string[] = []
  const question = `Is there more, number ${++count}?`
  const before = readFileSync(source.path)
  const { code, out, all } = await run(
    process.execPath,
    [main, 'continue', source.path, '--in', name, '--print', '--pick', String(source.pick ?? 0)],
    cwd,
  )
  const id = /(?:--resume|resume|-r|-s|--session) (\S+)\s*$/.exec(out)?.[1]
  if (code !== 0 || id === undefined) wrong.push(`continue: exit code ${code}: ${all.slice(-500)}`)
  else {
    const answered = await run(join(bin, command), resume(id, question), cwd)
    if (answered.code !== 0) wrong.push(`exit code ${answered.code}: ${answered.all.slice(-500)}`)
    const sent = requests.findLast(({ body }) => JSON.stringify(body).includes(question))
    const said = sent && conversationOf(sent)
    if (said === undefined) wrong.push('the provider was not asked')
    else wrong.push(...differences(sayingsOf(said), source.said ?? sayingsOf(source.messages), question))
  }
  if (!readFileSync(source.path).equals(before)) wrong.push('the session that it comes from was changed')
  return { from: source.from, in: name, seconds: (Date.now() - begun) / 1000, wrong }
}

const differences = (sent: readonly string[], said: readonly string[], question: string): readonly string[] => {
  const wanted = [...said.map((text) => text.replace(/^\u200b/, '')), question]
  const found = sent.map((text, index) => (index === sent.length - 1 ? text.replace(/^"(.*)"$/, '$1') : text))
  const at = wanted.findIndex((text, index) => found[index] !== text)
  if (at === -1 && found.length === wanted.length) return []
  const place = at === -1 ? wanted.length : at
  const shown = (texts: readonly string[]): string =>
    texts
      .slice(place, place + 2)
      .map((text) => text.slice(0, 150))
      .join(' | ')
  return [
    `saying ${place} of ${wanted.length}: sent ${found.length}: ${shown(found)}; the conversation says ${shown(wanted)}`,
  ]
}

/** A conversation with an image, a sub-agent's word, and 200 calls, as one file of messages. */
const many = (): Source => {
  const path = join(folder, 'many.json')
  const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const calls = Array.from({ length: 200 }, (_, index) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: `c${index}`,
          type: 'function',
          function: { name: index === 0 ? 'spawn_agent' : 'look', arguments: `{"at":${index}}` },
        },
      ],
    },
    { role: 'tool', tool_call_id: `c${index}`, content: `what ${index} gave` },
  ])
  const asks = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
  ]
  writeFileSync(
    path,
    JSON.stringify([{ role: 'user', content: asks }, ...calls.flat(), { role: 'assistant', content: 'A pixel.' }]),
  )
  return sourceAt('image, sub-agent, 200 calls', path)
}

/** The text of a session as its program reads it, and how it is put where the program looks. */
interface ProgramSession {
  readonly text: string
  /** Gives the id by which the program resumes it, and how it is taken away. */
  readonly put: (text: string) => Promise<{ readonly id: string; readonly remove: () => void }>
}

const ownOf = async (
  { name, command }: Program,
  { own, path }: Source & { readonly own: string },
): Promise<ProgramSession> => {
  if (name !== 'opencode') {
    const text = readFileSync(path, 'utf8')
    const id =
      /"sessionId":"([^"]+)"/.exec(text)?.[1] ?? /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(own)?.[0] ?? ''
    const put = async (changed: string) => {
      const other = `${randomUUID().slice(0, 8)}${id.slice(8)}`
      const place = join(dirname(own), basename(own).replace(id.slice(0, 8), other.slice(0, 8)))
      writeFileSync(place, changed.replaceAll(id, other))
      return { id: other, remove: () => rmSync(place, { force: true }) }
    }
    return { text, put }
  }
  const { out: text } = await run(join(bin, command), ['export', idIn(own)])
  const put = async (changed: string) => {
    // Other ids: an import under those of a session is merged with it.
    const id = `ses_${randomUUID().replaceAll('-', '').slice(0, 26)}`
    const file = join(folder, `${id}.json`)
    writeFileSync(file, changed.replaceAll(/ses_\w+/g, id).replaceAll(/\b((?:msg|prt)_\w+)/g, `$1${id.slice(4, 8)}`))
    const { code, all } = await run(join(bin, command), ['import', file])
    if (code !== 0) throw new Error(`opencode import: ${all.slice(-500)}`)
    return { id, remove: () => undefined }
  }
  return { text, put }
}

const idIn = (database: string): string => {
  const read = readTranscriptDatabase(database)
  return isLeft(read) ? '' : (read.right.origin.id ?? '')
}

/** Whether a program itself answers a session with all that was said in it. */
const continuesItself = async (id: string, { command, resume }: Program, said: readonly string[]): Promise<boolean> => {
  const question = `Do you remember it, number ${++count}?`
  const { code } = await run(join(bin, command), resume(id, question))
  const sent = requests.findLast(
    (request) => JSON.stringify(request.body).includes(question) && refusal(request) === undefined,
  )
  const heard = sent && sayingsOf(conversationOf(sent) ?? [])
  if (code !== 0 || heard === undefined) return false
  let at = 0 // all of it, in its order
  for (const one of heard) if (one === said[at] || said[at]?.endsWith(standIn)) at++
  return at === said.length
}

/** A session that breaks: whether its own program refuses or shortens it, and its continuation there by us. */
const tryBrokenSession = async (
  brick: Brick,
  source: Source,
  own: ProgramSession,
  program: Program,
): Promise<readonly Continuation[]> => {
  const from = `${brick.in}: ${brick.what}`
  const begun = Date.now()
  const text = brick.change(own.text)
  const all = sayingsOf(source.messages)
  const said = brick.left?.(all) ?? all
  const { id, remove } = await own.put(text)
  const goesOn = await continuesItself(id, program, said)
  remove()
  const wrong =
    brick.isWhole === 'maybe' || goesOn === (brick.isWhole ?? false)
      ? []
      : [goesOn ? 'its own program answers it whole' : 'its own program does not answer it whole']
  const alone = { from, in: 'its own, alone', seconds: (Date.now() - begun) / 1000, wrong }
  const path = join(folder, `${from.replaceAll(/\W+/g, '-')}.${program.name === 'opencode' ? 'json' : 'jsonl'}`)
  writeFileSync(path, text)
  return [alone, await continued({ from, path, messages: source.messages, said }, program)]
}

/** As long as paths are that Claude Code doesn't make a folder's name of as they are. */
const long = join(work, ...Array.from({ length: 5 }, (_, index) => `${index}`.repeat(60)))
mkdirSync(long, { recursive: true })

const made5 = await Promise.all(programs.map(makeSession))
const helpers = await Promise.all(programs.filter(({ name }) => name !== 'pi').map(withHelpers))
const results: Continuation[] = []
const failed = (from: string, error: unknown): Continuation => ({ from, in: '', seconds: 0, wrong: [String(error)] })
await Promise.all(
  programs.map(async (program) => {
    for (const source of [...made5, many()]) results.push(await continued(source, program))
    for (const source of helpers.flat())
      if (source.from.startsWith(program.name) || (program.name === 'pi' && source.from.endsWith('with sub-agents')))
        results.push(await continued(source, program))
    const source = made5.find(({ from }) => from === program.name) as (typeof made5)[number]
    if (program.name === 'claude-code')
      results.push(await continued({ ...source, from: 'in a folder with a long path' }, program, long))
    const own = await ownOf(program, source)
    for (const brick of bricks.filter((brick) => brick.in === program.name))
      results.push(
        ...(await tryBrokenSession(brick, source, own, program).catch((error: unknown) => [
          failed(`${brick.in}: ${brick.what}`, error),
        ])),
      )
  }),
)
/** What is wrong with the files that an agent has written by now: damage that reading them finds. */
const unclean = ({ files }: Program): readonly string[] =>
  globSync(join(home, files)).flatMap((path) => {
    const count = path.endsWith('.db') ? countIn(path) : 1
    return Array.from({ length: count }, (_, pick) => {
      const read = path.endsWith('.db') ? readTranscriptDatabase(path, { pick }) : readTranscript(readFileSync(path))
      const damage = isLeft(read) ? [read.left] : read.right.damage
      return damage.map((one) => `${basename(path)}: ${JSON.stringify(one)}`)
    }).flat()
  })

for (const program of programs)
  results.push({ from: program.name, in: 'its files, read', seconds: 0, wrong: unclean(program) })
await provider.close()
process.stdout.write(JSON.stringify(results))
