/** `indelible prove` and `indelible check-proof`: one message of a session, proven to somebody without the store. */
import { faultMessage } from '../index.ts'
import { isLeft, isObject, parseJson } from '../json/index.ts'
import { checkBundle, proveInLedger } from '../evidence/index.ts'
import { checkProof, proveEntry } from '../session/index.ts'
import { Misuse, Unreadable, wholeNumber, type Command } from './command.ts'
import { oneFile, pathOf, textOf } from './input.ts'
import { answer, headOfOption, headText, sessionOfCall, storeHelp, storeOption, withStore } from './place.ts'
import { counted } from './screen.ts'
import { trustHelp, trustOf, trustOptions } from './trust.ts'

export const prove: Command = {
  name: 'prove',
  synopsis: 'prove SESSION N',
  purpose: 'print a proof that a session has a message',
  help: `Usage: indelible prove SESSION N [options]

Prints one line of JSON: the message at position N and the hashes that connect
it to the session's head. Anyone who has the head can check the proof with
"indelible check-proof", without the store or the rest of the conversation.

N counts from 0; a negative N counts from the end.

With --ledger the output is a bundle: it also has the ledger's row of that head
and the last signed checkpoint of the ledger ("indelible ledger sign"). Anyone
who has the public keys can check it, without any head.

Options:
  --ledger       print a bundle for the ledger's last checkpoint
${storeHelp}
  -h, --help     print this help

Example:
  indelible prove mine 17 > message-17.json
`,
  options: { ledger: { type: 'boolean' }, ...storeOption },
  run: async (call) => {
    const id = sessionOfCall('prove', call, 1)
    const position = wholeNumber('prove: N', call.positionals[1], undefined)
    if (position === undefined) throw new Misuse('prove needs N: the position of a message')
    await withStore(call, {}, async (store) =>
      call.terminal.printJson([
        JSON.stringify(
          call.values['ledger'] === true
            ? await answer(proveInLedger(store, id, position))
            : await answer(proveEntry(store, id, position)),
        ),
      ]),
    )
  },
}

export const checkProofFile: Command = {
  name: 'check-proof',
  synopsis: 'check-proof FILE',
  purpose: 'check a proof that "prove" printed',
  help: `Usage: indelible check-proof FILE [--head SIZE:ROOT]
       indelible check-proof FILE --trust FILE

Checks a proof, and prints the proven message as JSON. Without --head the proof
is only checked against the head that it states itself, so give a head that you
know. FILE - reads standard input. Exit code 1 if the proof is wrong.

A bundle of "prove --ledger" is checked with --trust: the keys whose signatures
count.

Options:
  --head HEAD    the head, as "indelible head" prints it
${trustHelp}
  -h, --help     print this help
`,
  options: { head: { type: 'string' }, ...trustOptions },
  run: async ({ values, positionals, terminal }) => {
    const path = oneFile('check-proof', positionals, 'proof')
    const head = headOfOption(values['head'])
    const text = await textOf(path, terminal)
    const value = parseJson(text)
    if (isLeft(value))
      throw new Unreadable(`${pathOf(path)}: is not JSON at line ${value.left.line}, column ${value.left.column}`)
    const trust = trustOf(values, terminal)
    if (isObject(value.right) && value.right['indelible'] === 'evidence') {
      if (trust === undefined) throw new Misuse('check-proof: a bundle needs --trust FILE: whose signatures count')
      const checked = checkBundle(value.right, trust)
      if (isLeft(checked)) throw new Unreadable(`${pathOf(path)}: ${faultMessage(checked.left)}`)
      const { message, session, row, checkpoint } = checked.right
      await terminal.printJson([JSON.stringify(message)])
      return terminal.tell([
        `row ${row} of session ${JSON.stringify(session)}, in the ledger ${checkpoint.origin} of ${counted(checkpoint.head.size, 'row')}, signed by ${[...checkpoint.signedBy, ...checkpoint.witnessed.map(({ name }) => name)].join(', ')}`,
      ])
    }
    if (trust !== undefined)
      throw new Misuse('check-proof: --trust is for a bundle of "prove --ledger", and this is a plain proof')
    const proven = checkProof(value.right, head)
    if (isLeft(proven)) throw new Unreadable(`${pathOf(path)}: ${faultMessage(proven.left)}`)
    await terminal.printJson([JSON.stringify(proven.right.message)])
    terminal.tell([
      `row ${proven.right.row} of the record with the head ${headText(proven.right.head)}${head === undefined ? ', as the proof itself states; compare it with a head that you know: --head' : ''}`,
    ])
  },
}
