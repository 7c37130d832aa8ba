/**
 * The JSON for `opencode import`: the session, and its messages with their parts. opencode sorts
 * messages by creation time, and parts by id.
 *
 * Source  opencode 1.18.33, session/message-v2.ts, and on loopback (2026-11)
 */
import { linesOf, timeCounter, type Writer, type Writing } from './program.ts'
import type { Call, Media, TurnPart, Turn } from './turns.ts'

export const opencode: Writer = {
  holds: {
    pdfs: true,
    links: false,
    anyArguments: false,
    errors: true,
    imagesInErrors: false,
    isOwn: () => false,
  },
  place: ({ id }) => [`${id}.json`],
  idOf: (writing) => sessionOf(writing),
  write: (writing) => {
    const { turns, now, cwd, title } = writing
    const session = sessionOf(writing)
    const next = ids(writing)
    const moment = timeCounter(now, linesOf(turns))
    const created = moment()
    let question = ''
    const messages = turns.map((turn) => {
      const id = next('msg')
      const at = moment()
      const of = { id: '', sessionID: session, messageID: id }
      if (turn.role === 'user') {
        question = id
        return {
          info: userInfo(id, session, at, writing),
          parts: turn.content.map((item) => part(item, { ...of, id: next('prt') })),
        }
      }
      const done = moment()
      return {
        info: { ...answerInfo(turn, at, done, writing), id, sessionID: session, parentID: question },
        parts: [
          { ...of, id: next('prt'), type: 'step-start' },
          ...turn.content.map((item) => part(item, { ...of, id: next('prt') })),
          ...turn.calls.map((call) => tool(call, { ...of, id: next('prt') }, at, next)),
          { ...of, id: next('prt'), type: 'step-finish', reason: reasonOf(turn), cost: 0, tokens },
        ],
      }
    })
    const info = {
      id: session,
      slug: `indelible-${writing.id.slice(0, 8)}`,
      projectID: 'global',
      directory: cwd,
      title,
      version,
      time: { created, updated: now },
    }
    return [{ info, messages }]
  },
}

/** The version whose files are written. */
const version = '1.18.33'

const sessionOf = ({ id }: Writing): string => `ses_${id.replaceAll('-', '').slice(0, 26)}`

/** Ids that sort in the order of creation. */
const ids = ({ id, now }: Writing): ((kind: 'msg' | 'prt') => string) => {
  let count = 0
  const rest = id.replaceAll('-', '').slice(0, 8)
  return (kind) => `${kind}_${now.toString(16).padStart(12, '0')}${(++count).toString(16).padStart(6, '0')}${rest}`
}

const modelOf = ({ model }: Writing): { readonly providerID: string; readonly modelID: string } => ({
  providerID: model?.provider ?? 'imported',
  modelID: model?.model ?? 'imported',
})

const userInfo = (id: string, sessionID: string, at: number, writing: Writing): object => ({
  id,
  sessionID,
  role: 'user',
  time: { created: at },
  agent: 'build',
  model: modelOf(writing),
})

const tokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

const reasonOf = ({ calls }: Turn): string => (calls.length > 0 ? 'tool-calls' : 'stop')

const answerInfo = (turn: Turn, created: number, completed: number, writing: Writing): object => ({
  role: 'assistant',
  time: { created, completed },
  ...modelOf(writing),
  mode: 'build',
  agent: 'build',
  path: { cwd: writing.cwd, root: writing.cwd },
  cost: 0,
  tokens,
  finish: reasonOf(turn),
})

const part = (content: TurnPart, of: object): object => {
  if (content.type === 'text' || content.type === 'thought') return { ...of, type: 'text', text: content.text }
  return content.type === 'link' ? { ...of, type: 'text', text: content.url } : { ...of, ...file(content) }
}

const file = ({ mediaType, data }: Media): object => ({
  type: 'file',
  mime: mediaType,
  filename: `image.${mediaType.replace(/^.*\//, '')}`,
  url: `data:${mediaType};base64,${data}`,
})

const tool = (call: Call, of: object, at: number, next: (kind: 'prt') => string): object => {
  const { id, name, args, result, isError } = call
  const text = result.flatMap((item) => (item.type === 'text' ? [item.text] : [])).join('\n')
  const files = result.filter((item): item is Media => item.type === 'image' || item.type === 'file')
  const time = { start: at, end: at }
  const state = isError
    ? { status: 'error', input: args, error: text, time }
    : {
        status: 'completed',
        input: args,
        output: text,
        title: name,
        metadata: {},
        time,
        ...(files.length > 0 && {
          attachments: files.map((entry) => Object.assign({}, of, { id: next('prt') }, file(entry))),
        }),
      }
  return { ...of, type: 'tool', callID: id, tool: name, state }
}
