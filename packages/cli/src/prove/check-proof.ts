/** `indelible prove --check FILE`: checks a proof that `prove` printed. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, isObject, parseJson } from 'indelible/internal/json'
import { checkBundle, evidenceFaultMessage, readBundle, type AnyEvidenceFault } from '@indelible/evidence'
import { checkErased, checkErasure, checkGrowth, checkProof } from 'indelible/session'
import { Misuse, Unreadable, type Call } from '../terminal/command.ts'
import { oneFile, pathOf, textOf } from '../sources/input.ts'
import { headOfOption, headText } from '../sources/place.ts'
import { countText } from '../terminal/screen.ts'
import { trustOf } from '../sources/trust.ts'
import type { ErasedRow } from 'indelible/internal/store'

export const checkProofFile = async ({ values, positionals, terminal }: Call): Promise<void> => {
  const path = oneFile('prove --check', positionals, 'FILE: the proof')
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
  const printVerdict = async (values: readonly unknown[], line: string): Promise<void> => {
    await terminal.printJson(values)
    terminal.tell([line])
  }
  const withoutHead = (advice: string): string => (head === undefined ? advice : '')
  const type = isObject(value.right) ? value.right['indelible'] : undefined
  if (type === 'erased' ? (head === undefined) !== (ledgerHead === undefined) : ledgerHead !== undefined)
    throw new Misuse('prove --check: the proof of an erased message, and no other, needs --head and --ledger-head')
  switch (type) {
    case 'growth': {
      const { from, head: now } = orUnreadable(checkGrowth(value.right, head))
      return terminal.print([
        `the record with the head ${headText(now)} continues ${headText(from)}${withoutHead('; pass --head to compare one of them with a head that you know')}`,
      ])
    }
    case 'evidence': {
      if (trust === undefined) throw new Misuse('prove --check: a bundle needs --trust FILE: whose signatures count')
      const { message, session, row, checkpoint } = orUnreadable(checkBundle(orUnreadable(readBundle(text)), trust))
      const { origin, head: of, signedBy, witnessed } = checkpoint
      return printVerdict(
        [message],
        `row ${row} of session ${JSON.stringify(session)}, in the ledger ${origin} of ${countText(of.size, 'row')}, signed by ${[...signedBy, ...witnessed.map(({ name }) => name)].join(', ')}`,
      )
    }
    case 'erased': {
      const trusted = head && ledgerHead && { head, ledger: ledgerHead }
      const { row, leaf, ledger, said: proofs, head: of } = orUnreadable(checkErased(value.right, trusted))
      return printVerdict(
        [{ row, leaf, ...proofs }],
        `row ${row} of the record of messages and notes with the head ${headText(of)} has this leaf, and was erased${erasedText(proofs)}, according to the ledger with the head ${headText(ledger)}${withoutHead('; both heads come from the proof itself: pass --head and --ledger-head to compare them with heads that you know')}`,
      )
    }
    case 'erasure': {
      const { session, rows, said: proofs, ledger } = orUnreadable(checkErasure(value.right, head))
      return printVerdict(
        rows,
        `${erasedRows(rows)} erased for ${JSON.stringify(session)}${proofs.map(({ by, reason }) => erasedText({ by, reason })).join(',')}, in the ledger with the head ${headText(ledger)}${withoutHead(', as the receipt itself states; pass --head to compare it with a head that you know')}`,
      )
    }
  }
  if (trust !== undefined)
    throw new Misuse('prove --check: --trust is for a bundle of "prove --ledger", but this is a plain proof')
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
}

/** The ledger's time, person and reason of an erasure. */
export const erasedText = ({ at, by, reason }: { readonly [name in 'at' | 'by' | 'reason']?: unknown }): string =>
  `${at === undefined ? '' : ` at ${new Date(Number(at)).toISOString()}`}${by === undefined ? '' : ` by ${String(by)}`}${reason === undefined ? '' : ` (${String(reason)})`}`

const erasedRows = (rows: readonly Pick<ErasedRow, 'kind'>[]): string => {
  const notes = rows.filter(({ kind }) => kind === 'note').length
  return `${countText(rows.length - notes, 'message')}${notes === 0 ? '' : ` and ${countText(notes, 'note')}`}`
}
