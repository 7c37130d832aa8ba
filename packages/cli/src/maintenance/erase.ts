/** `indelible erase`: erases the content of messages, chosen by position, text or age. */
import { actionReasonOf, identityAt, ledgerContent, type DamagedEntry, type ErasedRow } from 'indelible/internal/store'
import type { Note } from 'indelible/internal/notes'
import { hasContent, type RemainingData } from 'indelible/internal/session'
import { isArray, isLeft, present } from 'indelible/internal/json'
import { listHolds, type AnyEvidenceFault } from '@indelible/evidence'
import {
  describeSession,
  eraseMessages,
  findMessages,
  openSession,
  type ErasureReceipt,
  type MessageQuery,
  type EraseTarget,
} from 'indelible/session'
import type { Store } from 'indelible/store'
import {
  parseAge,
  mustConfirm,
  confirm,
  Misuse,
  Unreadable,
  type Call,
  type Command,
  type Terminal,
} from '../terminal/command.ts'
import { remainingText, textToErase } from '../keep/remaining-text.ts'
import { heldText } from './hold.ts'
import { valueOrUnreadable, faultText, storeOption, withStore } from '../sources/place.ts'
import { erasedText } from '../prove/check-proof.ts'
import { countText, ranges, shellWord } from '../terminal/screen.ts'
import { sessionsIn, wholeId } from '../sources/sessions.ts'
import { waitForSpools } from '../record/spools.ts'

export const erase: Command = {
  name: 'erase',
  synopsis: 'erase SESSION N…',
  purpose: 'erase the content of messages permanently',
  usage: [
    'erase SESSION POSITIONS… [options]',
    'erase [SESSION] --matching PATTERN [--older-than AGE] [options]',
    'erase [SESSION] --older-than AGE [options]',
    'erase SESSION [POSITIONS…] --input ID [options]',
    'erase SESSION --all [options]',
  ],
  about: `Erases messages: their texts, the notes that repeat them, and the
blocks that nothing else references. Role, page kind, call ids and time stay,
and every proof of the other messages still holds. Every session that shares the
messages shows them erased. The ledger of the store gets a row with the erased
messages and the time, and with the reason and name that you give. This can't be
undone.

POSITIONS are those that "indelible show" prints: 3, or 5-9 for several. Erasing
a message of the user also erases its discarded answers. --input erases an input
without an answer, by its id. --all erases every message, every input, every
discarded answer, and every note with more than positions and kinds, including
receipts of model calls.

Without SESSION, --matching and --older-than look in all sessions of the scope.
Held messages ("indelible hold") are reported and skipped. So are sessions that
can't be read, such as one whose key was destroyed.

It first waits for an "indelible record" that has calls it has not stored yet, and
stores those that a killed one left.

The kept files of the session ("indelible keep") have the same text and are dropped.

The command says where the same text remains: in other messages, in metadata, in
blocks that others reference, in kept files of other sessions, in the files of the
program that wrote it, and in digests without a salt, from which a short text can be
guessed.

Exit code 1 if a session could not be read or erased, if every found message is
held, or if bytes are still in the files of the store because another process
reads them: end that process, and erase the same messages again.

In a terminal the command asks first; type yes to continue.`,
  options: {
    matching: { value: 'PATTERN', help: 'messages with a text that matches this regular expression, ignoring case' },
    'older-than': { value: 'AGE', help: 'messages that were appended longer ago: 90d, 12h' },
    input: {
      value: 'ID',
      many: true,
      help: 'the input of a turn with this id, with its message if there is one; repeatable',
    },
    all: { help: 'the whole content of the session' },
    'dry-run': { help: 'only print which messages would be erased, and which are held and would stay' },
    reason: { value: 'TEXT', help: 'the reason, for the ledger, which keeps it: do not repeat the erased text' },
    by: { value: 'NAME', help: 'your name, for the ledger' },
    json: { help: 'print the receipts as JSON, one per line; give them to the person who asked' },
    yes: { help: 'do not ask; required without a terminal' },
    ...storeOption,
  },
  examples: [
    'indelible erase support-1 3 5-9 --reason "request 812" --by ann',
    'indelible erase --matching "grace hopper" --dry-run',
    'indelible erase --older-than 365d --reason retention --yes',
  ],
  run: async (call) => {
    const { values, terminal } = call
    const [name, ...rest] = call.positionals
    const query = queryOf(values)
    const more = otherSubjectsIn(values)
    if (query === undefined && (name === undefined || (rest.length === 0 && more === undefined)))
      throw new Misuse(
        'erase needs a SESSION and positions, --input ID or --all, or --matching PATTERN, or --older-than AGE',
      )
    if (query !== undefined && (rest.length > 0 || more !== undefined))
      throw new Misuse('erase takes positions and inputs, or a pattern or an age, not both')
    if (more?.all === true && (rest.length > 0 || more.inputs !== undefined))
      throw new Misuse('erase takes --all, or positions and inputs, not both')
    rest.forEach(positionsIn) // report errors before opening a store
    const dry = values['dry-run'] === true
    const asks = !dry && mustConfirm('erase', call)
    await withStore(call, {}, async (store) => {
      if (!dry) await waitForSpools(store, call, 'nothing was erased')
      const found =
        name === undefined ? await planInScope(store, query ?? {}) : await planInSession(store, name, call, query, more)
      const { again } = found
      const left = leftOf(more, again)
      const { plans, held, unread } = query === undefined && !dry ? found : await separateHeld(store, found, more)
      const fresh = [...plans].map(([id, at]) => [id, at.filter((position) => !again.at.has(position))] as const)
      const lines = fresh.flatMap(([id, at]) => {
        const parts = [...(at.length === 0 ? [] : [messagesText(at)]), ...otherSubjectTexts(left)]
        return parts.length === 0 ? [] : [`${id}: ${parts.join(' and ')}`]
      })
      const stay = held.map(
        ({ id, at, why }) =>
          `${id}: ${why}; ${[...(at.length === 0 ? [] : [messagesText(at)]), ...otherSubjectTexts(more)].join(' and ')}`,
      )
      const lost = unread.map(({ id, reason }) => `${id}: skipped: ${reason}`)
      if (dry) {
        await terminal.print([
          ...lines.map((line) => `${line} would be erased`),
          ...stay.map((line) => `${line} would stay`),
          ...again.lines,
        ])
        terminal.tell(lost)
      } else terminal.tell([...stay.map((line) => `${line} skipped`), ...lost])
      if (lines.length === 0 && held.length === 0 && (dry || plans.size === 0))
        terminal.tell(['found no message to erase'])
      if (plans.size === 0 && held.length > 0 && !dry)
        throw new Unreadable(
          'every found message is held: nothing was erased; "indelible hold --release SESSION" ends a hold',
        )
      let failed = unread.length
      if (!dry && plans.size > 0) {
        if (asks) terminal.tell([...lines, ...again.lines])
        if (asks) await confirm(terminal, 'Erase them permanently?', 'nothing was erased')
        failed += await eraseAll(store, { plans, again, more }, call, name === undefined)
      }
      if (failed > 0) throw new Unreadable(`${countText(failed, 'session')} ${failed === 1 ? 'was' : 'were'} skipped`)
    })
  },
}

interface ErasePlan {
  /** The positions to erase, by session, including erased ones if they were given: their files are cleaned again. */
  readonly plans: ReadonlyMap<string, readonly number[]>
  /** The positions under a hold. */
  readonly held: readonly { readonly id: string; readonly at: readonly number[]; readonly why: string }[]
  readonly unread: readonly DamagedEntry[]
  readonly again: ErasedBefore
}

/** The given messages and inputs that were already erased, with the ledger's information. */
interface ErasedBefore {
  readonly at: ReadonlySet<number>
  readonly inputs: ReadonlySet<string>
  /** Whether nothing is left of the session's content. */
  readonly all: boolean
  /** All erased rows of the ledger. */
  readonly rows: ReadonlySet<string>
  /** When, by whom and why they were erased. */
  readonly lines: readonly string[]
}

/** What else to erase besides the found messages. */
type OtherSubjects = Pick<EraseTarget, 'inputs' | 'all'> | undefined

const otherSubjectsIn = ({ input, all }: Call['values']): OtherSubjects =>
  all === true
    ? { all, ...(input !== undefined && { inputs: [] }) }
    : isArray(input)
      ? { inputs: input.map(String) }
      : undefined

const otherSubjectTexts = (more: OtherSubjects): readonly string[] =>
  more?.all === true ? ['the rest of its content'] : (more?.inputs ?? []).map((id) => `input ${id}`)

/** The other subjects that were not erased before. */
const leftOf = (more: OtherSubjects, again: ErasedBefore): OtherSubjects =>
  more?.all === true
    ? again.all
      ? undefined
      : more
    : { inputs: more?.inputs?.filter((id) => !again.inputs.has(id)) ?? [] }

const nothingErasedBefore: ErasedBefore = { at: new Set(), inputs: new Set(), all: false, rows: new Set(), lines: [] }

const messagesText = (at: readonly number[]): string => `${countText(at.length, 'message')} (${ranges(at)})`

/** Search one session. Throws Unreadable if it can't be read, or lacks a given position. */
const planInSession = async (
  store: Store,
  name: string,
  { positionals, terminal }: Call,
  query: MessageQuery | undefined,
  more: OtherSubjects,
): Promise<ErasePlan> => {
  const id = await wholeId(store, name, terminal)
  const found = await valueOrUnreadable(findMessages(store, id, query ?? {}))
  if (query !== undefined)
    return { plans: new Map(found.length === 0 ? [] : [[id, found]]), held: [], unread: [], again: nothingErasedBefore }
  const { len } = await valueOrUnreadable(describeSession(store, id))
  const at = [...new Set(positionals.slice(1).flatMap(positionsIn))].toSorted((a, b) => a - b)
  const beyond = at.find((position) => position >= len)
  if (beyond !== undefined) throw new Unreadable(faultText({ _tag: 'BeyondEnd', id, at: beyond, size: len }))
  const positions = more?.all === true ? Array.from({ length: len }, (_, position) => position) : at
  const again = await erasedBefore(store, id, { messages: positions, ...more }, new Set(found))
  return { plans: new Map([[id, more?.all === true ? found : at]]), held: [], unread: [], again }
}

/** The subjects that were already erased. */
const erasedBefore = async (
  store: Store,
  id: string,
  { messages = [], inputs = [], all }: EraseTarget,
  there: ReadonlySet<number>,
): Promise<ErasedBefore> => {
  const { erasures } = await valueOrUnreadable(() => ledgerContent(store))
  const identities = await valueOrUnreadable(store.identities(id))
  const own = new Map<number, Pick<ErasedRow, 'kind' | 'index'> & { readonly text: string }>()
  for (const erasure of erasures)
    for (const row of erasure.rows)
      if (row.log === identityAt(identities, row.row)) own.set(row.row, { ...row, text: erasedText(erasure) })
  const notes = all === true || inputs.length > 0 ? [...(await valueOrUnreadable(openSession(store, id))).notes()] : []
  const found = inputs.map((input) => inputIn(notes, input, there))
  const at = new Set([...messages, ...found.flatMap((input) => input.at)].filter((position) => !there.has(position)))
  const over = found.filter(({ queued }) => queued !== undefined)
  const counts = new Map<string, { readonly messages: number[]; notes: number }>()
  for (const { kind, index, text } of own.values()) {
    if (kind === 'note' ? all !== true : !at.has(index)) continue
    const count = counts.get(text) ?? { messages: [], notes: 0 }
    counts.set(text, count)
    if (kind === 'note') count.notes += 1
    else count.messages.push(index)
  }
  return {
    at,
    inputs: new Set(found.flatMap(({ input, left }) => (left ? [] : [input]))),
    all: !notes.some(hasContent),
    rows: new Set(erasures.flatMap(({ rows }) => rows.map(keyOf))),
    lines: [
      ...[...counts].map(([text, { messages, notes }]) => {
        const what = [
          ...(messages.length === 0 ? [] : [messagesText(messages.toSorted((a, b) => a - b))]),
          ...(notes === 0 ? [] : [countText(notes, 'note')]),
        ]
        return `${id}: ${what.join(' and ')} ${messages.length + notes === 1 ? 'was' : 'were'} erased before,${text}`
      }),
      ...over.map(({ input, queued }) => {
        const texts = [...own.values()].flatMap(({ kind, index, text }) =>
          kind === 'note' && queued?.has(index) ? [text] : [],
        )
        return `${id}: input ${input} was erased before,${[...new Set(texts)].join(' or')}`
      }),
    ],
  }
}

/**
 * The positions of an input's messages, and whether content of it is left. `queued` is set if only the note that queued
 * it had content: the erased notes of inputs, one of which it was.
 */
const inputIn = (notes: readonly Note[], input: string, there: ReadonlySet<number>) => {
  const own = notes.flatMap((note, index) => (note.type === 'input' && note.id === input ? [{ note, index }] : []))
  const at = own.flatMap(({ note }) => (note.state === 'taken' && note.at !== undefined ? [note.at] : []))
  const [first] = own
  const left =
    first === undefined || own.some(({ note }) => hasContent(note)) || at.some((position) => there.has(position))
  const before = left ? [] : notes.slice(0, first.index)
  const stubs = before.flatMap((note, index) => (note.type === 'erased' && note.was === 'input' ? [index] : []))
  return { input, at, left, queued: at.length > 0 || stubs.length === 0 ? undefined : new Set(stubs) }
}

const keyOf = ({ log, row }: ErasedRow): string => `${log} ${row}`

/** Search every session of the scope. */
const planInScope = async (store: Store, query: MessageQuery): Promise<ErasePlan> => {
  const plans = new Map<string, readonly number[]>()
  const unread: DamagedEntry[] = []
  for (const { id } of await sessionsIn(store, unread)) {
    const at = await findMessages(store, id, query)()
    if (isLeft(at)) unread.push({ id, reason: reasonToSkip(at.left) })
    else if (at.right.length > 0) plans.set(id, at.right)
  }
  return { plans, held: [], unread, again: nothingErasedBefore }
}

/** The same, with messages under a hold listed separately. */
const separateHeld = async (
  store: Store,
  { plans, unread, again }: ErasePlan,
  more: OtherSubjects,
): Promise<ErasePlan> => {
  const free = new Map<string, readonly number[]>()
  const held: ErasePlan['held'][number][] = []
  for (const [id, all] of plans) {
    const at = all.filter((position) => !again.at.has(position))
    const holds = await valueOrUnreadable(listHolds(store, id))
    const kept = holds.reduce((most, { messages }) => Math.max(most, messages), 0)
    const isHeld = (position: number): boolean => position < kept || (more !== undefined && holds.length > 0)
    const [stay, go] = [at.filter(isHeld), at.filter((position) => !isHeld(position))]
    if (go.length > 0 || (more !== undefined && holds.length === 0)) free.set(id, go)
    if (stay.length > 0 || (more !== undefined && holds.length > 0))
      held.push({ id, at: stay, why: holds.map(({ hold }) => heldText(hold, id)).join(', ') })
  }
  return { plans: free, held, unread, again }
}

/** Erase the messages, and return the number of sessions that failed. */
const eraseAll = async (
  store: Store,
  { plans, again, more }: Pick<ErasePlan, 'plans' | 'again'> & { readonly more: OtherSubjects },
  { values, terminal }: Call,
  skips: boolean,
): Promise<number> => {
  let [residue, failed] = [0, 0]
  const add = (left: ErasureReceipt['residue']): void =>
    void (residue += left.filter(({ where }) => where !== 'dead rows').length)
  try {
    for (const [id, at] of plans) {
      const before = await textToErase(store, id, more?.all === true ? undefined : at)
      const options = present({ ...actionReasonOf(values), digests: before.digests, cleanLater: true })
      const erased = await eraseMessages(store, id, { messages: at, ...more }, options)()
      if (isLeft(erased)) {
        if (!skips) throw new Unreadable(faultText(erased.left))
        terminal.tell([`${id}: skipped: ${reasonToSkip(erased.left)}`])
        failed += 1
        continue
      }
      const receipt = erased.right
      add(receipt.residue)
      const dropped = before.hasFiles ? ['its kept files were dropped, because they have the same text'] : []
      const elsewhere = [...dropped, ...(await remainingText(store, before, terminal.env))].map((line) => `  ${line}`)
      if (values['json'] === true) {
        await terminal.printJson([receipt])
        terminal.tell(elsewhere)
      } else {
        await tell(receipt, again, terminal)
        await terminal.print(elsewhere)
      }
    }
  } finally {
    add((await valueOrUnreadable(store.erase({ logs: [] }))).residue) // cleans the file, once for all
  }
  if (residue > 0) throw new Unreadable('bytes of erased messages are still in the files of the store')
  return failed
}

/** Why one of several sessions is skipped. Throws Unreadable if the others can't be erased either. */
const reasonToSkip = (fault: AnyEvidenceFault): string => {
  switch (fault._tag) {
    case 'NoKey':
    case 'LogHeld':
    case 'NoSuchLog':
    case 'DamagedLog':
    case 'DamagedBlock':
    case 'NotASession':
    case 'NewerSession':
    case 'UnfinishedSession':
      return faultText(fault)
    default:
      throw new Unreadable(faultText(fault))
  }
}

const tell = async (receipt: ErasureReceipt, again: ErasedBefore, terminal: Terminal): Promise<void> => {
  const { session, messages, rows, sharing, remains, residue, ledger } = receipt
  const all = rows.filter(({ kind }) => kind === 'note')
  const notes = all.filter((row) => !again.rows.has(keyOf(row))).length
  const fresh = messages.filter((position) => !again.at.has(position))
  const head = `, recorded in the ledger at ${ledger.size}:${ledger.root}`
  const what = [...(fresh.length === 0 ? [] : [messagesText(fresh)]), ...(notes > 0 ? [countText(notes, 'note')] : [])]
  await terminal.print([
    ...(what.length === 0 ? [] : [`${session}: erased ${what.join(' and ')}${head}`]),
    ...again.lines.map((line) => `${line}${head}`),
    ...(sharing.length === 0 ? [] : [`  also in ${sharing.join(', ')}, which share them`]),
    ...remains.map((data) => `  remains: ${remainsText(data)}`),
    ...residue.map(({ where, reason }) => `  ${where}: ${reason}`),
  ])
}

const remainsText = (remains: RemainingData): string => {
  switch (remains.what) {
    case 'block':
      return `block ${remains.block}${remains.kept ? ', which was stored on its own' : ''}${remains.rows.length === 0 ? '' : ` of ${placesText(remains.rows)}`}`
    case 'text':
      return `the same text in ${placesText(remains.rows)}`
    case 'metadata':
      return `the same text in the metadata or the id of ${remains.session}; "indelible rename ${shellWord(remains.session)} TITLE" replaces a title`
    case 'lease':
      return `the same text in the name of who has or had the lease of ${remains.session}`
    case 'operation':
      return `the same text in the id of an operation of ${remains.session}, which stays for retries`
    case 'scope':
      return `the same text in the name of the scope ${remains.scope}`
    case 'unread':
      return `perhaps the same text in ${remains.session}, which is encrypted and can't be read`
    case 'leaf':
      return `the digests of ${countText(remains.rows.length, 'row')} have no salt: a short text can be guessed from one`
    case 'stream':
      return `the stream of the last answer of ${remains.session}, which is removed soon after its end`
    case 'index':
      return `the recorder's index has keyed digests of ${remains.session}: somebody with the whole store can guess a short text`
    case 'contextDigest':
      return `${countText(remains.rows.length, 'receipt')} of model calls with a digest of the request: a short text can be guessed from one`
  }
}

const placesText = (rows: Extract<RemainingData, { readonly what: 'text' }>['rows']): string => {
  const shown = rows
    .slice(0, 5)
    .map(
      ({ id, position, message }) => `${id} ${message === undefined ? `note (row ${position})` : `message ${message}`}`,
    )
  return `${shown.join(', ')}${rows.length > shown.length ? ` and ${rows.length - shown.length} more` : ''}`
}

/** The query in the options; undefined if there is none. Throws Misuse. */
const queryOf = (values: Call['values']): MessageQuery | undefined => {
  const { matching } = values
  const age = values['older-than']
  if (matching === undefined && age === undefined) return undefined
  return {
    ...(typeof matching === 'string' && { matching: patternOf(matching) }),
    ...(typeof age === 'string' && { before: Date.now() - milliseconds(age) }),
  }
}

const patternOf = (text: string): RegExp => {
  try {
    if (text !== '') return new RegExp(text, 'iu')
  } catch {
    // reported below
  }
  throw new Misuse(`--matching takes a regular expression, not "${text}"`)
}

const milliseconds = (text: string): number => {
  const age = parseAge(text)
  if (age === undefined) throw new Misuse(`--older-than takes an age such as 90d or 12h, not "${text}"`)
  return age
}

/** `3`, `5-9` or `3,5-9`. Throws Misuse. */
const positionsIn = (text: string): readonly number[] =>
  text.split(',').flatMap((part) => {
    const [, first, last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part) ?? []
    const [from, to] = [Number(first), Number(last)]
    if (first === undefined || to < from || to - from > 1_000_000)
      throw new Misuse(`erase takes positions such as 3 or 5-9, not "${text}"`)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
