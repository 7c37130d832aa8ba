/** The conversation that a command is given the name of: a file's, or a session's. */
import { existsSync } from 'node:fs'
import { createHistory, leftOut, without } from '../history/index.ts'
import type { Message, Sequence } from '../message/index.ts'
import type { Note } from '../notes/index.ts'
import { readSession } from '../session/index.ts'
import type { Call } from './command.ts'
import { readConversation, type Conversation } from './input.ts'
import { answer, withStore } from './place.ts'
import { counted } from './screen.ts'
import { defaultStorePath } from './store.ts'

export interface NamedConversation extends Conversation {
  /** What is written about it; of a file, nothing. */
  readonly notes?: Sequence<Note>
}

/** What is not the path of a file, nor called like one, is the id of a session; with `--store` it always is. */
export const namedConversation = (name: string, call: Call): Promise<NamedConversation> =>
  isFile(name, call) ? readConversation(name, call.values, call.terminal) : storedConversation(name, call)

/** Whether a file is meant: it is there, it is called like one, or there is no store yet that could have it as a session. */
const isFile = (path: string, { values, terminal }: Call): boolean =>
  values['store'] === undefined &&
  (path === '-' ||
    existsSync(terminal.path(path)) ||
    /[/\\]|\.\w+$/.test(path) ||
    !existsSync(defaultStorePath(terminal.env)))

/** The conversation of a session, with `--all` its record: a view whose pages are what the notes have made of them. */
const storedConversation = (id: string, call: Call): Promise<NamedConversation> =>
  withStore(call, {}, async (store) => {
    const session = await answer(readSession(store, id))
    const pages = session.pages()
    const history = createHistory<Message>()
    for (const message of session.view()) history.append(message, pages[history.len])
    const notes = session.notes()
    const [record, retracted] = [history.view(), session.len - session.conversation().length]
    return {
      view: call.values['all'] === true ? record : without(record, leftOut(session.conversation())),
      notes,
      timeOf: session.timeOf,
      title: `${id}: ${session.state === 'sealed' ? 'sealed session' : 'session'}, ${counted(session.len, 'message')}${retracted === 0 ? '' : `, ${retracted} of them retracted`}${notes.length === 0 ? '' : `, ${counted(notes.length, 'note')}`}`,
    }
  })
