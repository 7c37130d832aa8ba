/** `indelible prove` and `indelible check-proof`: prove a message of a session to somebody without the store. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, parseJson } from 'indelible/json/kit'
import {
  checkBundle,
  evidenceFaultMessage,
  proveInLedger,
  readBundle,
  type AnyEvidenceFault,
} from '@indelible/evidence'
import {
  checkErased,
  checkErasure,
  checkGrowth,
  checkProof,
  proveEntry,
  proveErased,
  proveGrowth,
} from 'indelible/session'
import type { ErasedRow, Head } from 'indelible/store'
import { Misuse, Unreadable, wholeNumber, type Call, type Command } from '../terminal/command.ts'
import { oneFile, pathOf, textOf } from '../sources/input.ts'
import { valueOrUnreadable, headOfOption, headText, sessionOfCall, storeOption } from '../sources/place.ts'
import { withSession } from '../sources/sessions.ts'
import { countText } from '../terminal/screen.ts'
import { trustOf, trustOptions } from '../sources/trust.ts'

export const prove: Command = {
  name: 'prove',
  synopsis: 'prove SESSION N',
  purpose: 'print a proof that a session has a message',
  usage: ['prove SESSION N [options]', 'prove SESSION --consistency --head SIZE:ROOT [options]'],
  about: `Prints one line of JSON: the message at position N and the hashes that connect
it to the session's head. Anyone who has the head can check the proof with
"indelible check-proof", without the store or the rest of the conversation.

N counts from 0; a negative N counts from the end.

For an erased message the output proves that its leaf is in the session, and
that the ledger records its erasure. Earlier proofs still hold.

With --ledger the output is a bundle: it also contains the ledger's row with
that head and the last signed checkpoint of the ledger ("indelible ledger
sign"). Anyone who has the public keys can check it, without any head.

With --consistency the output proves that the current record still begins with
the record that had the head of --head, unchanged.`,
  options: {
    consistency: { help: 'print a proof that the record continues an earlier head' },
    head: { value: 'HEAD', help: 'with --consistency: the earlier head, as "indelible head" printed it' },
    ledger: { help: "print a bundle for the ledger's last checkpoint" },
    ...storeOption,
  },
  examples: ['indelible prove mine 17 > message-17.json'],
  run: async (call) => {
    const given = sessionOfCall('prove', call, 1)
    const older = headOfOption(call.values['head'])
    if (call.values['consistency'] === true) return proveConsistency(call, given, older)
    if (older !== undefined)
      throw new Misuse('prove --head needs --consistency; a proof of a message is always for the current head')
    const position = wholeNumber('prove: N', call.positionals[1], undefined)
    if (position === undefined) throw new Misuse('prove needs N: the position of a message')
    await withSession(call, given, async (store, id) => {
      if (call.values['ledger'] === true)
        return call.terminal.printJson([await valueOrUnreadable(proveInLedger(store, id, position))])
      const proof = await proveEntry(store, id, position)()
      const isErased = isLeft(proof) && proof.left._tag === 'MessageErased'
      await call.terminal.printJson([
        isErased
          ? await valueOrUnreadable(proveErased(store, id, position))
          : await valueOrUnreadable(async () => proof),
      ])
      if (isErased)
        call.terminal.tell([
          `message ${proof.left.position} of ${id} was erased${erasedText(proof.left)}: the proof has its leaf and the ledger's row about the erasure`,
        ])
    })
  },
}

/** The ledger's time, person and reason of an erasure. */
export const erasedText = ({ at, by, reason }: { readonly [name in 'at' | 'by' | 'reason']?: unknown }): string =>
  `${at === undefined ? '' : ` at ${new Date(Number(at)).toISOString()}`}${by === undefined ? '' : ` by ${String(by)}`}${reason === undefined ? '' : ` (${String(reason)})`}`

const erasedRows = (rows: readonly Pick<ErasedRow, 'kind'>[]): string => {
  const notes = rows.filter(({ kind }) => kind === 'note').length
  return `${countText(rows.length - notes, 'message')}${notes === 0 ? '' : ` and ${countText(notes, 'note')}`}`
}

const proveConsistency = async (call: Call, given: string, older: Head | undefined): Promise<void> => {
  if (call.positionals.length > 1) throw new Misuse('prove --consistency takes no N: it is about the whole record')
  if (call.values['ledger'] === true) throw new Misuse('prove takes --consistency or --ledger, not both')
  if (older === undefined) throw new Misuse('prove --consistency needs --head SIZE:ROOT: the earlier head')
  if (older.size === 0)
    throw new Misuse('prove --consistency needs a head of at least one row: every record continues an empty one')
  await withSession(call, given, async (store, id) => {
    const proof = await proveGrowth(store, id, older)()
    if (isLeft(proof) && proof.left._tag === 'Diverged')
      throw new Unreadable(
        proof.left.actual.size < older.size
          ? `${id}: has ${countText(proof.left.actual.size, 'row')}, but the head has ${older.size}: the session was truncated, or the head belongs to another session`
          : `${id}: its first ${countText(older.size, 'row')} do not have that head: they were changed, or the head belongs to another session`,
      )
    await call.terminal.printJson([await valueOrUnreadable(async () => proof)])
  })
}

export const checkProofFile: Command = {
  name: 'check-proof',
  synopsis: 'check-proof FILE',
  purpose: 'check a proof that "prove" printed',
  usage: ['check-proof FILE [--head SIZE:ROOT]', 'check-proof FILE --trust FILE'],
  about: `Checks a proof, and prints the proven message as JSON. Without --head
the proof is only checked against the head in the proof itself, so pass a head
that you know. If FILE is -, it reads standard input. Exit code 1 if the proof
is wrong.

Check a bundle of "prove --ledger" with --trust: the keys whose signatures
count. Check the receipt of "erase --json" with a head of the ledger as --head,
and the proof of an erased message with --head and --ledger-head: anyone can
erase a message in a copy of a session, but not with the ledger that you know.`,
  options: {
    head: { value: 'HEAD', help: 'the head, as "indelible head" prints it' },
    'ledger-head': { value: 'HEAD', help: "an erased message's proof: the ledger's head, as erase prints it" },
    ...trustOptions,
  },
  run: async ({ values, positionals, terminal }) => {
    const path = oneFile('check-proof', positionals, 'FILE: the proof')
    const head = headOfOption(values['head'])
    const ledgerHead = headOfOption(values['ledger-head'], '--ledger-head')
    const text = await textOf(path, terminal)
    const value = parseJson(text)
    if (isLeft(value))
      throw new Unreadable(`${pathOf(path)}: is not JSON at line ${value.left.line}, column ${value.left.column}`)
    const trust = trustOf(values, terminal)
    const orUnreadable = <T>(read: Either<AnyEvidenceFault, T>, advice = ''): T => {
      if (isLeft(read)) throw new Unreadable(`${pathOf(path)}: ${evidenceFaultMessage(read.left)}${advice}`)
      return read.right
    }
    const printVerdict = async (said: readonly unknown[], line: string): Promise<void> => {
      await terminal.printJson(said)
      terminal.tell([line])
    }
    const withoutHead = (advice: string): string => (head === undefined ? advice : '')
    const type = isObject(value.right) ? value.right['indelible'] : undefined
    if (type === 'erased' ? (head === undefined) !== (ledgerHead === undefined) : ledgerHead !== undefined)
      throw new Misuse('check-proof: the proof of an erased message, and no other, needs --head and --ledger-head')
    switch (type) {
      case 'growth': {
        const { from, head: now } = orUnreadable(checkGrowth(value.right, head))
        return terminal.print([
          `the record with the head ${headText(now)} continues ${headText(from)}${withoutHead('; pass --head to compare one of them with a head that you know')}`,
        ])
      }
      case 'evidence': {
        if (trust === undefined) throw new Misuse('check-proof: a bundle needs --trust FILE: whose signatures count')
        const { message, session, row, checkpoint } = orUnreadable(checkBundle(orUnreadable(readBundle(text)), trust))
        const { origin, head: of, signedBy, witnessed } = checkpoint
        return printVerdict(
          [message],
          `row ${row} of session ${JSON.stringify(session)}, in the ledger ${origin} of ${countText(of.size, 'row')}, signed by ${[...signedBy, ...witnessed.map(({ name }) => name)].join(', ')}`,
        )
      }
      case 'erased': {
        const trusted = head && ledgerHead && { head, ledger: ledgerHead }
        const { row, leaf, ledger, said, head: of } = orUnreadable(checkErased(value.right, trusted))
        return printVerdict(
          [{ row, leaf, ...said }],
          `row ${row} of the record of messages and notes with the head ${headText(of)} has this leaf, and was erased${erasedText(said)}, according to the ledger with the head ${headText(ledger)}${withoutHead('; both heads come from the proof itself: pass --head and --ledger-head to compare them with heads that you know')}`,
        )
      }
      case 'erasure': {
        const { session, rows, said, ledger } = orUnreadable(checkErasure(value.right, head))
        return printVerdict(
          rows,
          `${erasedRows(rows)} erased for ${JSON.stringify(session)}${said.map(({ by, reason }) => erasedText({ by, reason })).join(',')}, in the ledger with the head ${headText(ledger)}${withoutHead(', as the receipt itself states; pass --head to compare it with a head that you know')}`,
        )
      }
    }
    if (trust !== undefined)
      throw new Misuse('check-proof: --trust is for a bundle of "prove --ledger", but this is a plain proof')
    const proven = checkProof(value.right, head)
    const own = head && isLeft(proven) ? checkProof(value.right) : undefined
    const other = own && !isLeft(own) && own.right.head.size !== head?.size ? own.right.head : undefined
    const advice =
      other && head
        ? `; if the session grew in between, "indelible prove SESSION --consistency --head ${headText(other.size < head.size ? other : head)}" proves that its record continues this one`
        : ''
    const { message, row, head: of } = orUnreadable(proven, advice)
    await printVerdict(
      [message],
      `the message is row ${row} of the session with the head ${headText(of)}${withoutHead('; that head comes from the proof itself: pass --head to compare with one that you know')}`,
    )
  },
}
