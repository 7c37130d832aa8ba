/** Who vouches for the session: the part of the proof that leads from its head to a signed checkpoint. */
import { signal, type Signal } from '@preact/signals'
import type { Trust } from '@indelible/evidence'
import type { ViewedEvidence } from '../../../src/protocol.ts'
import type { VNode } from 'preact'
import { evidenceOfHead, parseTrust, type Signature, type HeadEvidence as Found } from './evidence.ts'
import { Field, HeadText } from '../elements/field.tsx'
import type { Proof } from './proof.ts'
import { countText, groupedNumber, sentence, visibleText, timeText } from '../format-text.ts'

/** The keys that somebody gave the page: they hold for every session that it opens. */
export const userKeys: Signal<string> = signal('')

/** The keys that count: those that were given to the page, before those of the server. */
const trustFor = (evidence: ViewedEvidence, origin: string): Trust | string | undefined =>
  parseTrust(userKeys.value, origin) ?? evidence.trust

/** What the evidence says of these rows; undefined if no checkpoint covers them, a sentence if it is worth nothing. */
export const judgeEvidence = (evidence: ViewedEvidence, id: string, proof: Proof): Found | string | undefined => {
  if (evidence.proof === undefined) return undefined
  const claimed = evidenceOfHead(evidence.proof, id, proof, undefined)
  if (typeof claimed === 'string') return claimed
  const trust = trustFor(evidence, claimed.head.checkpoint.origin)
  return typeof trust === 'object' ? evidenceOfHead(evidence.proof, id, proof, trust) : claimed
}

interface SignedProps {
  readonly evidence: ViewedEvidence
  readonly exported: boolean
  readonly id: string
  readonly proof: Proof
}

export const Signed = ({ evidence, exported, id, proof }: SignedProps): VNode => {
  const found = judgeEvidence(evidence, id, proof)
  if (found === undefined)
    return (
      <section class="signed">
        <h3>Not signed</h3>
        <p>
          {evidence.why !== undefined
            ? sentence(evidence.why)
            : exported
              ? 'This file has no signature: its store had no ledger when the file was created.'
              : 'The store has no ledger: “indelible ledger” creates and signs one.'}
        </p>
      </section>
    )
  if (typeof found === 'string')
    return (
      <section class="signed">
        <h3 class="bad">Not signed</h3>
        <p class="bad">{sentence(`the ledger’s proof is invalid: ${found}`)}</p>
      </section>
    )
  return <EvidenceVerdict evidence={evidence} found={found} proof={proof} />
}

interface EvidenceVerdictProps {
  readonly evidence: ViewedEvidence
  readonly found: Found
  readonly proof: Proof
}

const EvidenceVerdict = ({ evidence, found, proof }: EvidenceVerdictProps): VNode => {
  const { head, recorded, checkpoint } = found.head
  const rows = `${head.size === proof.computed.size ? 'all' : 'the first'} ${countText(head.size, 'row')}`
  const trust = parseTrust(userKeys.value, checkpoint.origin)
  const [tone, title, text] = !found.same
    ? [
        'bad',
        'Not the signed record',
        `The ledger has another head for the first ${countText(head.size, 'row')}: the record was truncated or replaced after the ledger recorded it.`,
      ]
    : found.counts === true
      ? ['good', 'Signed', `The ledger has the head of ${rows}, and a key that you trust has signed the ledger.`]
      : found.why !== undefined
        ? ['bad', 'Not signed by a trusted key', sentence(found.why)]
        : [
            '',
            'Signed, not verified',
            `The ledger has the head of ${rows}. Paste the keys that you trust, and the page verifies the signatures.`,
          ]
  return (
    <section class="signed">
      <h3 class={tone}>{title}</h3>
      <p class={tone === 'good' ? '' : tone}>{text}</p>
      <dl class="fields">
        <Field name="Checkpoint">
          {visibleText(checkpoint.origin)}, {countText(checkpoint.head.size, 'row')} of the ledger
          <br />
          <HeadText head={checkpoint.head} />
        </Field>
        <Field name="Covers">
          {rows}
          {recorded === undefined ? '' : `, recorded in the ledger ${timeText(recorded)}`}
          <br />
          <HeadText head={head} />
        </Field>
        <Field name="Signed by">
          <ul class="signatures">
            {found.signatures.map((signature) => (
              <li>
                <span class="key-name">{visibleText(signature.name)}</span> <code>{signature.keyId}</code>{' '}
                <span class={signature.verified === 'yes' ? 'good' : signature.verified === 'no' ? 'bad' : 'quiet'}>
                  {signatureWords(signature)}
                </span>
              </li>
            ))}
          </ul>
        </Field>
        <Field name="Not compared">
          <ul class="signatures">
            {openQuestions(found, proof, trust).map((text) => (
              <li>{text}</li>
            ))}
          </ul>
        </Field>
      </dl>
      <label class="kept">
        Keys that you trust
        <textarea
          rows={2}
          spellcheck={false}
          placeholder="public keys, NAME+ID+BASE64, or a trust file"
          value={userKeys.value}
          onInput={(event) => (userKeys.value = event.currentTarget.value)}
        />
      </label>
      {typeof trust === 'string' ? (
        <p class="bad" role="status">
          {sentence(trust)}
        </p>
      ) : trust === undefined && evidence.trust !== undefined ? (
        <p class="quiet">Without any, the keys of “indelible view --trust” count.</p>
      ) : null}
    </section>
  )
}

const signatureWords = ({ verified, by, at }: Signature): string => {
  const witness = by === 'witness' ? ' witness,' : ''
  if (verified === 'unknown') return 'not verified: its key was not given'
  return `${witness} ${verified === 'no' ? 'wrong signature' : 'verified'}${at === undefined ? '' : `, signed ${timeText(at)}`}`.trim()
}

/** What these keys leave open. */
const openQuestions = (
  { head: { head }, signatures, counts }: Found,
  { computed, stated }: Proof,
  trust: Trust | string | undefined,
): readonly string[] => {
  const later = Math.max(computed.size, stated.size) - head.size
  const unknown = signatures.filter(({ verified }) => verified === 'unknown')
  return [
    ...(later > 0 ? [`the ${countText(later, 'row')} after them: appended since this checkpoint`] : []),
    ...(unknown.length > 0
      ? [
          `who made ${unknown.length === 1 ? 'the signature' : `${groupedNumber(unknown.length)} signatures`} without a key here`,
        ]
      : []),
    ...(counts === true && typeof trust === 'object' && !userKeys.value.trim().startsWith('{')
      ? ['the origin, and how many witnesses must sign: only a trust file says that']
      : []),
    ...(signatures.some(({ verified, by }) => verified === 'yes' && by === 'witness')
      ? []
      : ['whether others were shown another ledger: no witness that you trust has signed']),
    'the other sessions of the ledger, and earlier checkpoints',
  ]
}
