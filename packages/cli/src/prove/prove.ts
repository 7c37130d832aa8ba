/** `indelible prove`: the head of a session, and proofs about its messages for somebody without the store. */
import { isLeft } from 'indelible/internal/json'
import { proveInLedger } from '@indelible/evidence'
import { describeSession, proveEntry, proveErased, proveGrowth } from 'indelible/session'
import type { Head } from 'indelible/store'
import { Misuse, Unreadable, wholeNumber, type Call, type Command } from '../terminal/command.ts'
import {
  valueOrUnreadable,
  headForTerminal,
  headOfOption,
  headText,
  sessionToRead,
  storeOption,
} from '../sources/place.ts'
import { withSession } from '../sources/sessions.ts'
import { countText } from '../terminal/screen.ts'
import { trustOptions } from '../sources/trust.ts'
import { checkProofFile, erasedText } from './check-proof.ts'

export const prove: Command = {
  name: 'prove',
  synopsis: 'prove SESSION [N]',
  purpose: 'print the head of a session, or a proof that it has a message',
  usage: [
    'prove [SESSION] [--full] [options]',
    'prove SESSION N [--ledger] [options]',
    'prove [SESSION] --consistency --head SIZE:ROOT [options]',
    'prove --check FILE [--head SIZE:ROOT]',
    'prove --check FILE --trust FILE',
  ],
  about: `Without N it prints the head of a session: the number of rows in its log
and their Merkle root, as one word, SIZE:ROOT. Keep it where people who can write
to the store can't change it, and pass it to "indelible verify --head" later. A
terminal shows a short root, which is enough to compare two by eye. --full prints
the whole root, and so does a pipe or a file.

With N it prints one line of JSON: the message at position N and the hashes that
connect it to the session's head. Anyone who has the head can check the proof with
"indelible prove --check", without the store or the rest of the conversation. N
counts from 0; a negative N counts from the end. For an erased message the output
proves that its leaf is in the session, and that the ledger records its erasure.
Earlier proofs still hold.

With --ledger the output is a bundle: it also contains the ledger's row with
that head and the last signed checkpoint of the ledger ("indelible ledger
sign"). Anyone who has the public keys can check it, without any head.

With --consistency the output proves that the current record still begins with
the record that had the head of --head, unchanged.

With --check it checks the proof in FILE, and prints the proven message as JSON.
Without --head the proof is only checked against the head in the proof itself, so
pass a head that you know. If FILE is -, it reads standard input. Exit code 1 if
the proof is wrong. Check a bundle of "prove --ledger" with --trust: the keys whose
signatures count. Check the receipt of "erase --json" with a head of the ledger as
--head, and the proof of an erased message with --head and --ledger-head: anyone
can erase a message in a copy of a session, but not with the ledger that you know.`,
  options: {
    full: { help: 'print the whole root even on a terminal' },
    ledger: { help: "with N: print a bundle for the ledger's last checkpoint" },
    consistency: { help: 'print a proof that the record continues an earlier head' },
    check: { help: 'check the proof in FILE' },
    head: {
      value: 'HEAD',
      help: 'with --consistency: the earlier head, as "indelible prove SESSION" printed it; with --check: a head that you know',
    },
    'ledger-head': { value: 'HEAD', help: "an erased message's proof: the ledger's head, as erase prints it" },
    ...trustOptions,
    ...storeOption,
  },
  forms: {
    '': ['full', ...Object.keys(storeOption)],
    ledger: Object.keys(storeOption),
    consistency: ['head', ...Object.keys(storeOption)],
    check: ['head', 'ledger-head', ...Object.keys(trustOptions)],
  },
  examples: ['indelible prove mine --full', 'indelible prove mine 17 > message-17.json'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    if (values['check'] === true) return checkProofFile(call)
    const name = sessionToRead('prove', call, 1)
    if (values['consistency'] === true) return proveConsistency(call, name, headOfOption(values['head']))
    const position = wholeNumber('prove: N', positionals[1], undefined)
    if (position === undefined && values['ledger'] === true)
      throw new Misuse('prove --ledger needs N: the position of a message')
    if (position !== undefined && values['full'] === true)
      throw new Misuse('prove --full takes no N: it prints the head')
    await withSession(call, name, async (store, id) => {
      if (position === undefined) {
        const { head } = await valueOrUnreadable(describeSession(store, id))
        return terminal.print([values['full'] === true ? headText(head) : headForTerminal(head, terminal)])
      }
      if (values['ledger'] === true)
        return terminal.printJson([await valueOrUnreadable(proveInLedger(store, id, position))])
      const proof = await proveEntry(store, id, position)()
      const isErased = isLeft(proof) && proof.left._tag === 'MessageErased'
      await terminal.printJson([
        isErased
          ? await valueOrUnreadable(proveErased(store, id, position))
          : await valueOrUnreadable(async () => proof),
      ])
      if (isErased)
        terminal.tell([
          `message ${proof.left.position} of ${id} was erased${erasedText(proof.left)}: the proof has its leaf and the ledger's row about the erasure`,
        ])
    })
  },
}

const proveConsistency = async (call: Call, name: string | undefined, older: Head | undefined): Promise<void> => {
  if (call.positionals.length > 1) throw new Misuse('prove --consistency takes no N: it is about the whole record')
  if (older === undefined) throw new Misuse('prove --consistency needs --head SIZE:ROOT: the earlier head')
  if (older.size === 0)
    throw new Misuse('prove --consistency needs a head of at least one row: every record continues an empty one')
  await withSession(call, name, async (store, id) => {
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
