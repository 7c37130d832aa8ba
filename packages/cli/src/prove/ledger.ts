/** `indelible ledger`: the ledger of a store, its checkpoints and its witnesses. */
import {
  checkCheckpoint,
  readLedger,
  rotation,
  signerOf,
  signLedger,
  updateLedger,
  verifyLedger,
  witnessLedger,
  type NoteSigner,
  type Trust,
  evidenceFaultMessage,
} from '@indelible/evidence'
import { lastCheckpoint, verifierOf, mismatchText } from '@indelible/evidence/internal'
import { isLeft } from 'indelible/internal/json'
import type { Head, Store } from 'indelible/store'
import { optionFile } from '../sources/input.ts'
import { Misuse, Unreadable, type Call, type Command, type Terminal } from '../terminal/command.ts'
import { valueOrUnreadable, headOfOption, headText, storeOption, withStore } from '../sources/place.ts'
import { countText } from '../terminal/screen.ts'
import { shortIds } from '../sources/short-ids.ts'
import { signerMemory } from './signer-memory.ts'
import { trustOf, trustOptions } from '../sources/trust.ts'

export const ledger: Command = {
  name: 'ledger',
  synopsis: 'ledger VERB',
  purpose: 'record and check the heads of all sessions',
  usage: [
    'ledger update [options]',
    'ledger show [options]',
    'ledger verify [--head SIZE:ROOT | --trust FILE] [options]',
    'ledger sign --key FILE --origin NAME [options]',
    'ledger witness URL=VKEY… [options]',
  ],
  about: `A ledger is a log that records the head of every session of a store,
and which sessions were removed. Its own head covers them all. "indelible
remove" also writes to it.

  update   record the heads of sessions that are new or have grown. Exit code 1
           if a session is not what the ledger says; nothing new is recorded of
           that session
  show     print what the ledger says, a line for each session
  verify   compare every row and attachment of every session with the ledger,
           and the ledger with a head or with its last signed checkpoint. Exit
           code 1 on any difference. With --heads-only it reads no rows, and
           finds sessions that were cut, replaced or deleted, no altered rows
  sign     sign the ledger's head with a key of "indelible key new", and print
           the checkpoint. The key remembers the last head that it signed, in
           a file beside it: keep both. Exit code 1 if the ledger does not
           continue that head, also if the store has lost its checkpoints
  witness  ask witnesses to sign the last checkpoint, too, and print it. A
           witness is its address, "=" and its public key. Exit code 1 if one
           does not sign`,
  options: {
    key: { value: 'FILE', many: true, help: 'the file of the private key, for sign; repeatable' },
    origin: {
      value: 'NAME',
      help: 'the name of this ledger in checkpoints, such as example.com/agents; use another for each store and scope',
    },
    next: { value: 'VKEY', help: 'name the next public key of this ledger in the checkpoint' },
    signed: {
      value: 'FILE',
      help: 'the file in which sign remembers the last signed head (default: beside the key, KEY.signed)',
    },
    head: { value: 'HEAD', help: 'for verify: a head of the ledger that you know' },
    'heads-only': { help: 'for verify: compare the heads of sessions only, and read no rows' },
    ...trustOptions,
    json: { help: 'print JSON' },
    ...storeOption,
  },
  examples: [
    'indelible key new example.com/agents --out agents.key',
    'indelible ledger update',
    'indelible ledger sign --key agents.key --origin example.com/agents',
  ],
  run: async (call) => {
    const [verb, ...rest] = call.positionals
    const work = verb === undefined ? undefined : verbs[verb]
    if (work === undefined)
      throw new Misuse(
        `ledger takes one of ${Object.keys(verbs).join(', ')}${verb === undefined ? '' : `, not "${verb}"`}`,
      )
    if (verb !== 'witness' && rest.length > 0)
      throw new Misuse(`ledger ${verb} takes nothing more, but got ${rest.join(', ')}`)
    const ready = work(call, rest) // report wrong arguments before opening a store
    await withStore(call, {}, ready)
  },
}

type LedgerCommand = (call: Call, rest: readonly string[]) => (store: Store) => Promise<void>

const update: LedgerCommand =
  ({ terminal, values }) =>
  async (store) => {
    const { head, recorded, mismatches } = await terminal.waiting('reading heads', () =>
      valueOrUnreadable(updateLedger(store)),
    )
    if (values['json'] === true) await terminal.printJson([{ head, recorded, mismatches }])
    else await terminal.print([`${headText(head)}  ${countText(recorded, 'session')} recorded`])
    if (mismatches.length === 0) return
    terminal.tell(mismatches.map(mismatchText))
    throw new Unreadable(`${countText(mismatches.length, 'session')} not recorded: different from the ledger`)
  }

const show: LedgerCommand =
  ({ terminal, values }) =>
  async (store) => {
    const { sessions, held, erasures } = await valueOrUnreadable(readLedger(store))
    if (values['json'] === true)
      return terminal.printJson([
        ...sessions.values(),
        ...Array.from(held.values(), (hold) => Object.assign({ held: true }, hold)),
        ...erasures.map((erasure) => Object.assign({ erased: true }, erasure)),
      ])
    const idOf = shortIds([...sessions.keys(), ...held.keys(), ...erasures.map(({ id }) => id)], terminal)
    await terminal.print(
      [...sessions.values()].map(({ id, head: { size, root }, at, removed, ...why }) =>
        [
          idOf(id),
          countText(size, 'row'),
          ...(terminal.columns < 80 && terminal.shows ? [] : [root.slice(0, 12)]),
          timeText(at, terminal),
          ...(removed ? [`removed${byAndReasonText(why)}`] : []),
        ].join('  '),
      ),
    )
    await terminal.print([
      ...[...held.values()].map(
        ({ id, at, ...why }) => `${idOf(id)}  held${byAndReasonText(why)}  ${timeText(at, terminal)}`,
      ),
      ...erasures.map(
        ({ id, at, rows, ...why }) =>
          `${idOf(id)}  ${countText(rows.length, 'row')} erased${byAndReasonText(why)}  ${timeText(at, terminal)}`,
      ),
    ])
  }

/** A time: complete for a program, to the minute on a terminal. */
const timeText = (at: number, { shows }: Terminal): string => {
  const whole = new Date(at).toISOString()
  return shows ? whole.slice(0, 16).replace('T', ' ') : whole
}

const byAndReasonText = ({
  by,
  reason,
}: {
  readonly by?: string | undefined
  readonly reason?: string | undefined
}): string => `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`

const verify: LedgerCommand = ({ terminal, values }) => {
  const trust = trustOf(values, terminal)
  const expected = headOfOption(values['head'])
  if (trust !== undefined && expected !== undefined) throw new Misuse('ledger verify takes --head or --trust, not both')
  const headsOnly = values['heads-only'] === true
  return async (store) => {
    const older = trust === undefined ? expected : await signedHead(store, trust)
    const verified = headsOnly
      ? await terminal.waiting('comparing heads', () => verifyLedger(store, older, { headsOnly })())
      : await verifiedRows(store, older, terminal)
    if (isLeft(verified) && verified.left._tag === 'LedgerMismatch') {
      const { mismatches } = verified.left
      terminal.tell(mismatches.map(mismatchText))
      throw new Unreadable(`${countText(mismatches.length, 'session')} different from the ledger`)
    }
    const { head, good, removed, held, erased, unrecorded } = await valueOrUnreadable(async () => verified)
    if (values['json'] === true)
      return terminal.printJson([{ head, headsOnly, good, removed, held, erased, unrecorded }])
    await terminal.print([
      `${headText(head)}  ${countText(good, 'session')} as recorded, ${removed} removed, ${unrecorded.length} not recorded yet${held.length === 0 ? '' : `, ${held.length} held`}${erased === 0 ? '' : `, ${countText(erased, 'row')} erased`}`,
    ])
    if (headsOnly) terminal.tell(['only heads were compared, so altered rows are not detected'])
    if (older === undefined)
      terminal.tell(['the ledger was only compared with itself; pass a head that you know, or --trust'])
  }
}

/** Verify with a progress bar over all rows that the ledger covers. */
const verifiedRows = async (store: Store, older: Head | undefined, terminal: Terminal) => {
  const known = await readLedger(store)()
  const sessions = isLeft(known) ? [] : [...known.right.sessions.values()]
  const rows = sessions.reduce((sum, { head, removed }) => sum + (removed ? 0 : head.size), 0)
  const bar = terminal.progress('verifying sessions', rows, 'rows')
  const verified = await verifyLedger(store, older, { progress: bar.at })()
  bar.end()
  return verified
}

/** The head in the last checkpoint, if the checkpoint is trusted. */
const signedHead = async (store: Store, trust: Trust): Promise<Head> => {
  const last = await valueOrUnreadable(lastCheckpoint(store))
  if (last === undefined) throw new Unreadable('the ledger has no checkpoint; "indelible ledger sign" creates one')
  const checked = checkCheckpoint(last.note, trust)
  if (isLeft(checked)) throw new Unreadable(evidenceFaultMessage(checked.left))
  return checked.right.head
}

const sign: LedgerCommand = ({ terminal, values }) => {
  const files = values['key']
  const { origin, next } = values
  if (!Array.isArray(files) || files.length === 0) throw new Misuse('ledger sign needs --key FILE: a private key')
  if (typeof origin !== 'string' || origin === '' || origin.includes('\n'))
    throw new Misuse('ledger sign needs --origin NAME: the name of the ledger in checkpoints')
  const signers = files.map((file) => signerIn(String(file), terminal))
  const successor = typeof next === 'string' ? verifierOf(next) : undefined
  if (successor !== undefined && isLeft(successor)) throw new Misuse(`--next: ${evidenceFaultMessage(successor.left)}`)
  const extensions = typeof next === 'string' ? [rotation(next)] : []
  const { signed } = values
  const places = typeof signed === 'string' ? [signed] : files.map((file) => `${String(file)}.signed`)
  return async (store) => {
    const memory = places.map((place) => signerMemory(place, terminal))
    const { note } = await valueOrUnreadable(signLedger(store, { origin, signers, memory, extensions }))
    await terminal.printWhole(note.trimEnd().split('\n'))
  }
}

const signerIn = (file: string, terminal: Terminal): NoteSigner => {
  const signer = signerOf(optionFile('--key', file, terminal))
  if (isLeft(signer)) throw new Unreadable(`--key ${file}: ${evidenceFaultMessage(signer.left)}`)
  return signer.right
}

const witness: LedgerCommand = ({ terminal }, rest) => {
  if (rest.length === 0) throw new Misuse('ledger witness needs witnesses, each as URL=VKEY')
  const witnesses = rest.map((witness) => {
    const [, url, vkey] = /^(https?:\/\/[^=\s]+)=(\S+)$/.exec(witness) ?? []
    if (url === undefined || vkey === undefined) throw new Misuse(`a witness is URL=VKEY, not "${witness}"`)
    const verifier = verifierOf(vkey)
    if (isLeft(verifier)) throw new Misuse(`${url}: ${evidenceFaultMessage(verifier.left)}`)
    return { url, vkey }
  })
  return async (store) => {
    const { note, signedBy, refusals } = await valueOrUnreadable(witnessLedger(store, witnesses))
    await terminal.printWhole(note.trimEnd().split('\n'))
    terminal.tell(refusals.map(evidenceFaultMessage))
    if (refusals.length > 0) throw new Unreadable(`${signedBy.length} of ${witnesses.length} witnesses signed`)
  }
}

const verbs: { readonly [verb: string]: LedgerCommand | undefined } = { update, show, verify, sign, witness }
