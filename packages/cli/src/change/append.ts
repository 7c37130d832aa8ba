/** `indelible append SESSION`: appends messages from the command line or standard input. */
import { faultMessage } from 'indelible'
import { isLeft, isObject, parseJson } from 'indelible/internal/json'
import { decodeMessage, openCalls, text, type Message, type Role } from 'indelible/message'
import { isRole, roles } from 'indelible/internal/message'
import { isPageKind, pageKinds } from 'indelible/pages'
import { openSession, pending, type Session } from 'indelible/session'
import { Misuse, Unreadable, type Command } from '../terminal/command.ts'
import { textOf } from '../sources/input.ts'
import { valueOrUnreadable, headForTerminal, sessionOfCall, storeOption } from '../sources/place.ts'
import { withSession } from '../sources/sessions.ts'
import { countText, shellWord } from '../terminal/screen.ts'

export const append: Command = {
  name: 'append',
  synopsis: 'append SESSION',
  purpose: 'append messages to a session',
  usage: ['append SESSION TEXT [options]', 'append SESSION [options] < MESSAGES'],
  about: `Appends one message with TEXT, or the messages on standard input, one JSON
object a line. All of them are appended or none, and they are on disk when the
command ends. A message is
  {"role": "user", "content": [{"type": "text", "text": "hi"}]}
Its content may also be a string.`,
  options: {
    role: { value: 'ROLE', help: 'the role of TEXT: system, developer, user (default), assistant' },
    page: {
      value: 'KIND',
      help: 'the page kind of the messages, for memory management: bootstrap, constraint, plan, preference, evidence, conversation (default: chosen by role and content)',
    },
    at: { value: 'N', help: 'append only if the session has N messages; otherwise exit 1' },
    operation: { value: 'ID', help: 'an id for this append: a retry with it changes nothing' },
    interrupted: { help: 'first append an error result for each call without a result' },
    ...storeOption,
  },
  examples: ['indelible append mine "And now the tests."'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const named = sessionOfCall('append', call, 1)
    const role = roleOf(values['role'])
    const page = values['page']
    if (page !== undefined && !isPageKind(page))
      throw new Misuse(`--page: "${String(page)}" is not a page kind; expected ${pageKinds.join(', ')}`)
    const at = values['at']
    if (at !== undefined && (typeof at !== 'string' || !/^\d{1,15}$/.test(at)))
      throw new Misuse('--at takes a number of messages')
    const operation = values['operation']
    const [, content] = positionals
    if (content === '')
      throw new Misuse('append: TEXT is empty, so nothing was appended; standard input takes an empty message')
    const messages =
      content === undefined ? messagesIn(await textOf('-', terminal)) : [{ role, content: [text(content)] }]
    if (messages.length === 0) throw new Misuse('append needs TEXT, or messages on standard input')
    await withSession(call, named, async (store, id) => {
      const session = await valueOrUnreadable(openSession(store, id))
      const results = values['interrupted'] === true ? pending(session).messages : []
      const { from, to, head } = await valueOrUnreadable(
        session.append([...results, ...messages], {
          ...(page !== undefined && { page: [...results.map(() => undefined), ...messages.map(() => page)] }),
          ...(typeof operation === 'string' && { operation }),
          ...(typeof at === 'string' && { expectedLen: Number(at) }),
        }),
      )
      await terminal.print([
        `${id}: ${countText(to - from, 'message')} at ${from}, head ${headForTerminal(head, terminal)}`,
      ])
      if (messages.at(-1)?.role !== 'assistant') terminal.tell(openCallLines(session))
    })
  },
}

/** Advice about calls without a result. A result must directly follow its call, so later messages rule it out. */
const openCallLines = (session: Session): readonly string[] => {
  const conversation = session.conversation()
  const [first, ...others] = openCalls(conversation)
  if (first === undefined) return []
  const refused = `${countText(1 + others.length, 'call')} without a result, which providers refuse`
  if (pending(session).messages.length > 0)
    return [`${refused}: run it again with --interrupted to append error results first`]
  const id = shellWord(session.id)
  return [
    `${refused}; messages already follow, so an append can't add ${others.length === 0 ? 'it' : 'them'}; "indelible context" and "export --to" fill in error results;`,
    `"indelible show ${id}" lists the calls; "indelible fork ${id} --at ${(conversation.positionAt(first.position) as number) + 1}" and then append --interrupted continues from the first`,
  ]
}

const roleOf = (value: unknown): Role => {
  if (value === undefined) return 'user'
  if (!isRole(value) || value === 'tool')
    throw new Misuse(`--role: expected ${roles.filter((role) => role !== 'tool').join(', ')}`)
  return value
}

const messagesIn = (input: string): readonly Message[] =>
  input.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const value = parseJson(line)
    if (isLeft(value))
      throw new Unreadable(
        `standard input: line ${index + 1} is not JSON at column ${value.left.column}: expected ${value.left.expected}, found ${value.left.found}`,
      )
    const decoded = decodeMessage(withParts(value.right))
    if (isLeft(decoded))
      throw new Unreadable(
        `standard input: line ${index + 1} is not a message: ${faultMessage(decoded.left)}; nothing was appended`,
      )
    return [decoded.right]
  })

/** A message whose text content is wrapped in a part. */
const withParts = (value: unknown): unknown =>
  isObject(value) && typeof value['content'] === 'string' ? { ...value, content: [text(value['content'])] } : value
