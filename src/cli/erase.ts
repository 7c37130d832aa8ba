/** `indelible erase`: messages whose content is not to be kept, by position, by what they say, or by their age. */
import { isLeft } from '../json/index.ts'
import { eraseMessages, findMessages, type ErasureReceipt, type MessageQuery, type Remains } from '../session/index.ts'
import type { RowPlace, Store } from '../store/index.ts'
import { Misuse, Unreadable, type Call, type Command, type Terminal } from './command.ts'
import { becauseOf } from './hold.ts'
import { answer, faultText, storeOption, withStore } from './place.ts'
import { counted, ranges } from './screen.ts'
import { allSessions, sessionOrAdvice } from './sessions.ts'

export const erase: Command = {
  name: 'erase',
  synopsis: 'erase SESSION N…',
  purpose: 'erase the content of messages for good',
  usage: [
    'erase SESSION POSITIONS… [options]',
    'erase [SESSION] --matching PATTERN [--older-than AGE] [options]',
    'erase [SESSION] --older-than AGE [options]',
  ],
  about: `Erases messages: their texts, the notes that repeat them, and the blocks that
nothing else references. Role, page kind, call ids and time stay, and every proof
of the other messages still holds. Every session that shares the messages shows
them erased. The ledger of the store keeps a row that says which were erased,
when, and, if you say so, why and by whom. This can't be undone.

POSITIONS are those that "indelible show" prints: 3, or 5-9 for several.
Without SESSION, --matching and --older-than look in all sessions of the scope;
sessions that are held ("indelible hold") are left out and named.

The command says where the same text remains: in other messages, in metadata, in
blocks that others reference, and in digests without a salt, which a short text
can be guessed from. Exit code 1 if bytes are still in the files of the store
because another process reads them: close it, and erase the same messages again.

In a terminal the command asks first; type yes to continue.`,
  options: {
    matching: { value: 'PATTERN', help: 'messages with a text that matches this regular expression, in any case' },
    'older-than': { value: 'AGE', help: 'messages that were appended longer ago: 90d, 12h' },
    'dry-run': { help: 'only print what would be erased' },
    reason: { value: 'TEXT', help: 'why, for the ledger, which keeps it: do not name what is erased' },
    by: { value: 'NAME', help: 'who, for the ledger' },
    json: { help: 'print the receipts as JSON, one a line; give them to whoever asked' },
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
    const [given, ...rest] = call.positionals
    const query = queryOf(values)
    if (query === undefined && (given === undefined || rest.length === 0))
      throw new Misuse('erase needs a SESSION and positions, or --matching PATTERN, or --older-than AGE')
    if (query !== undefined && rest.length > 0)
      throw new Misuse('erase takes positions, or a pattern or an age, not both')
    const positions = rest.flatMap(positionsIn)
    const dry = values['dry-run'] === true
    const asks = values['yes'] !== true && !dry
    if (asks && !terminal.asks) throw new Misuse('erase needs --yes where it has no terminal to ask')
    await withStore(call, {}, async (store) => {
      const ids: string[] = []
      if (given !== undefined) ids.push(await sessionOrAdvice(store, given, terminal))
      else for await (const { id } of allSessions(store)) ids.push(id)
      const found = new Map<string, readonly number[]>()
      for (const id of ids) {
        const at = query === undefined ? positions : await answer(findMessages(store, id, query))
        if (at.length > 0) found.set(id, at)
      }
      if (found.size === 0) return terminal.tell(['no message is to be erased'])
      const plans = [...found].map(([id, at]) => `${id}: ${counted(at.length, 'message')} (${ranges(at)})`)
      if (dry) return terminal.print(plans)
      if (asks) {
        terminal.tell(plans)
        if ((await terminal.answerTo('Erase them for good? Type yes: '))?.trim() !== 'yes')
          return terminal.tell(['nothing was erased'])
      }
      await eraseAll(store, found, call, given === undefined)
    })
  },
}

const eraseAll = async (
  store: Store,
  found: ReadonlyMap<string, readonly number[]>,
  { values, terminal }: Call,
  skipsHeld: boolean,
): Promise<void> => {
  let residue = 0
  for (const [id, at] of found) {
    const erased = await eraseMessages(store, id, at, becauseOf(values))()
    if (isLeft(erased)) {
      if (!skipsHeld || erased.left._tag !== 'LogHeld') throw new Unreadable(faultText(erased.left))
      terminal.tell([`${id}: left out: ${faultText(erased.left)}`])
      continue
    }
    const receipt = erased.right
    residue += receipt.residue.filter(({ where }) => where !== 'dead rows').length
    if (values['json'] === true) await terminal.printJson([JSON.stringify(receipt)])
    else await tell(receipt, terminal)
  }
  if (residue > 0) throw new Unreadable('bytes of erased messages are still in the files of the store')
}

const tell = async (receipt: ErasureReceipt, terminal: Terminal): Promise<void> => {
  const { session, messages, rows, sharing, remains, residue, ledger } = receipt
  const notes = rows.filter(({ kind }) => kind === 'note').length
  await terminal.print([
    `${session}: erased ${counted(messages.length, 'message')} (${ranges(messages)})${notes === 0 ? '' : ` and ${counted(notes, 'note')}`}, as ledger ${ledger.size}:${ledger.root} says`,
    ...(sharing.length === 0 ? [] : [`  also in ${sharing.join(', ')}, which share them`]),
    ...remains.map((one) => `  remains: ${remainsText(one)}`),
    ...residue.map(({ where, reason }) => `  ${where}: ${reason}`),
  ])
}

const remainsText = (remains: Remains): string => {
  switch (remains.what) {
    case 'block':
      return `block ${remains.block}, ${remains.kept ? 'which was stored on its own' : `of ${placesText(remains.rows)}`}`
    case 'text':
      return `the same text in ${placesText(remains.rows)}`
    case 'metadata':
      return `the same text in the metadata of ${remains.session}`
    case 'leaf':
      return `the digests of ${counted(remains.rows.length, 'row')} have no salt: a short text can be guessed from one`
    case 'contextDigest':
      return `${counted(remains.rows.length, 'receipt')} of model calls with a digest of what was sent: a short text can be guessed from one`
  }
}

const placesText = (rows: readonly RowPlace[]): string => {
  const shown = rows.slice(0, 5).map(({ id, position }) => `${id} row ${position}`)
  return `${shown.join(', ')}${rows.length > shown.length ? ` and ${rows.length - shown.length} more` : ''}`
}

/** What the options ask for; undefined, if they ask for nothing. Throws Misuse. */
const queryOf = (values: Call['values']): MessageQuery | undefined => {
  const { matching } = values
  const age = values['older-than']
  if (matching === undefined && age === undefined) return undefined
  return {
    ...(typeof matching === 'string' && { matching: patternOf(matching) }),
    ...(typeof age === 'string' && { before: Date.now() - milliseconds(age) }),
  }
}

const patternOf = (given: string): RegExp => {
  try {
    if (given !== '') return new RegExp(given, 'iu')
  } catch {
    // said below
  }
  throw new Misuse(`--matching takes a regular expression, not "${given}"`)
}

const units: { readonly [unit: string]: number } = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 }

const milliseconds = (given: string): number => {
  const [, count, unit = ''] = /^(\d{1,7})([dhms])$/.exec(given) ?? []
  if (count === undefined) throw new Misuse(`--older-than takes an age such as 90d or 12h, not "${given}"`)
  return Number(count) * (units[unit] as number)
}

/** `3`, `5-9` or `3,5-9`. Throws Misuse. */
const positionsIn = (given: string): readonly number[] =>
  given.split(',').flatMap((part) => {
    const [, first, last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part) ?? []
    const [from, to] = [Number(first), Number(last)]
    if (first === undefined || to < from || to - from > 1_000_000)
      throw new Misuse(`erase takes positions such as 3 or 5-9, not "${given}"`)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
