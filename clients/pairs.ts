/**
 * Sessions of five agents, each continued in each other by `indelible continue`, and some that their own agent can't
 * continue any more. A provider on loopback refuses what real ones refuse, and has to be sent exactly the conversation, but
 * for what each agent adds by itself. Prints JSON: a line for each continuation. Started by `run.ts` where there is no way
 * out.
 */
import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { mend, settle, type Message } from 'indelible'
import { codecs } from 'indelible/codecs'
import { readTranscript } from '@indelible/transcripts'
import { readTranscriptDatabase } from '@indelible/transcripts/sqlite'
import { providerServer, type Reply, type Request } from '../test/run/provider-server.ts'
import { agents } from './agents.ts'
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

/** What is said, called and answered, in order. Ids are numbers in the order of the calls. */
const sayingsOf = (messages: readonly Message[]): readonly string[] => {
  const ids = new Map<string, number>()
  const idOf = (id: string): number => ids.get(id) ?? (ids.set(id, ids.size), ids.size - 1)
  return messages.flatMap(({ role, content }) => {
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
          const texts = part.content.map((one) => (one.type === 'text' ? one.text : one.type))
          return [`result ${idOf(part.callId)} ${texts.join('\n').trim()}`]
        }
        case 'image':
          return ['data' in part.source ? `image ${part.source.data}` : 'image']
        default:
          return []
      }
    })
  })
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
const asked = (name: string) => (question: string) => withAddress(agentOf(name).ask(question, false))
const gemini = ['-m', 'gemini-2.5-pro', '--approval-mode', 'yolo', '--skip-trust', '-p']
const codex = [
  '--skip-git-repo-check',
  '--dangerously-bypass-approvals-and-sandbox',
  '-c',
  `openai_base_url=${provider.url}/v1`,
]
const pi = ['-p', '--provider', 'scripted', '--model', 'gpt-5.2']

const programs: readonly Program[] = [
  {
    name: 'claude-code',
    command: 'claude',
    program: agentOf('Claude Code').program(),
    ask: asked('Claude Code'),
    resume: (id, question) => ['-p', '--resume', id, question],
    files: '.claude/projects/*/*.jsonl',
  },
  {
    name: 'codex',
    command: 'codex',
    program: agentOf('Codex').program(),
    ask: asked('Codex'),
    resume: (id, question) => ['exec', 'resume', id, ...codex, question],
    files: '.codex/sessions/*/*/*/*.jsonl',
  },
  {
    name: 'gemini',
    command: 'gemini',
    program: agentOf('Gemini CLI').program(),
    ask: asked('Gemini CLI'),
    resume: (id, question) => ['-r', id, ...gemini, question],
    files: '.gemini/tmp/*/chats/*.json*',
  },
  {
    name: 'opencode',
    command: 'opencode',
    program: agentOf('opencode').program(),
    ask: asked('opencode'),
    resume: (id, question) => ['run', '-s', id, question],
    files: '.local/share/opencode/opencode.db',
  },
  {
    name: 'pi',
    command: 'pi',
    program: globSync(join(import.meta.dirname, 'node_modules/.bin/pi'))[0],
    ask: (question) => [...pi, question],
    resume: (id, question) => [...pi, '--session', id, question],
    files: '.pi/agent/sessions/*/*.jsonl',
  },
]

for (const name of ['Gemini CLI', 'opencode']) agentOf(name).prepare?.({ home, work })
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
): Promise<{ readonly code: number; readonly out: string; readonly all: string }> =>
  new Promise((resolve) => {
    const options = { cwd: work, env, encoding: 'utf8', timeout: 300_000, maxBuffer: 1 << 26 } as const // ends a hang
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
}

const sourceAt = (from: string, path: string): Source => {
  const read = path.endsWith('.db') ? readTranscriptDatabase(path) : readTranscript(readFileSync(path))
  if (isLeft(read)) throw new Error(`${path}: ${JSON.stringify(read.left)}`)
  return { from, path, messages: mend(read.right.messages).messages as readonly Message[] }
}

/** A session of an agent that has used a tool. */
const made = async ({ name, program, ask, files }: Program): Promise<Source> => {
  if (program === undefined) throw new Error(`${name} is not installed`)
  const { code, all } = await run(program, ask('Please read note.txt and tell me its second word.'))
  const [path] = globSync(join(home, files))
  if (code !== 0 || path === undefined) throw new Error(`${name}: exit code ${code}: ${all.slice(-1000)}`)
  // A copy: that of opencode gets more sessions, and the others must stay as they are.
  const copy = join(folder, `${name}-${basename(path)}`)
  writeFileSync(copy, readFileSync(path))
  if (path.endsWith('.db')) for (const log of globSync(`${path}-wal`)) writeFileSync(`${copy}-wal`, readFileSync(log))
  return sourceAt(name, copy)
}

let count = 0

const continued = async (source: Source, { name, command, resume }: Program): Promise<Continuation> => {
  const begun = Date.now()
  const wrong: string[] = []
  const question = `Is there more, number ${++count}?`
  const before = readFileSync(source.path)
  const { code, out, all } = await run(process.execPath, [main, 'continue', source.path, '--in', name, '--print'])
  const id = /(?:--resume|resume|-r|-s|--session) (\S+)\s*$/.exec(out)?.[1]
  if (code !== 0 || id === undefined) wrong.push(`continue: exit code ${code}: ${all.slice(-500)}`)
  else {
    const answered = await run(join(bin, command), resume(id, question))
    if (answered.code !== 0) wrong.push(`exit code ${answered.code}: ${answered.all.slice(-500)}`)
    const sent = requests.findLast(({ body }) => JSON.stringify(body).includes(question))
    const said = sent && conversationOf(sent)
    if (said === undefined) wrong.push('the provider was not asked')
    else wrong.push(...differences(sayingsOf(said), sayingsOf(source.messages), question))
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

/** Sessions that their own agent can't continue: written by it, and then damaged. */
const damaged = (sources: readonly Source[]): readonly Source[] => {
  const lines = (from: string, change: (lines: readonly string[]) => readonly string[], what: string): Source => {
    const source = sources.find((one) => one.from === from) as Source
    const path = join(folder, `${what.replaceAll(/\W/g, '-')}-${basename(source.path)}`)
    writeFileSync(path, change(readFileSync(source.path, 'utf8').split('\n')).join('\n'))
    return sourceAt(`${from}: ${what}`, path)
  }
  return [
    lines(
      'claude-code',
      (all) => all.map((line) => line.replace(/"parentUuid":"[^"]*"/, '"parentUuid":null')),
      'no parents',
    ),
    lines('claude-code', (all) => all.filter((line) => !line.includes('"tool_result"')), 'a result is missing'),
    lines('codex', ([first = '', ...rest]) => [first.slice(0, 50), ...rest], 'torn header'),
    lines('pi', (all) => all.map((line, index) => (index === 3 ? line.slice(0, 40) : line)), 'torn line'),
  ]
}

const made5 = await Promise.all(programs.map(made))
const results: Continuation[] = []
await Promise.all(
  programs.map(async (program) => {
    const sources = [...made5, many(), ...damaged(made5).filter(({ from }) => from.startsWith(`${program.name}:`))]
    for (const source of sources) results.push(await continued(source, program))
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

const countIn = (path: string): number => {
  const read = readTranscriptDatabase(path)
  return isLeft(read) ? 1 : read.right.count
}

for (const program of programs)
  results.push({ from: program.name, in: 'its files, read', seconds: 0, wrong: unclean(program) })
await provider.close()
process.stdout.write(JSON.stringify(results))
