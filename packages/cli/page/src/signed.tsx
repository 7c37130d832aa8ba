/** Who vouches for the session: the part of the proof that leads from its head to a signed checkpoint. */
import { signal, type Signal } from '@preact/signals'
import type { Trust } from '@indelible/evidence'
import type { ViewedEvidence } from '../../src/view/protocol.ts'
import type { VNode } from 'preact'
import { signedOf, trustIn, type Signature, type Signed as Found } from './evidence.ts'
import type { Proof } from './proof.ts'
import { counted, grouped, sentence, shown, timeText } from './shown.ts'

/** The keys that somebody gave the page: they hold for every session that it opens. */
export const givenKeys: Signal<string> = signal('')

/** The keys that count: those that were given to the page, before those of the server. */
const trustFor = (evidence: ViewedEvidence, origin: string): Trust | string | undefined =>
  trustIn(givenKeys.value, origin) ?? evidence.trust

/** What the evidence says of these rows; undefined if no checkpoint covers them, a sentence if it is worth nothing. */
export const judged = (evidence: ViewedEvidence, id: string, proof: Proof): Found | string | undefined => {
  if (evidence.proof === undefined) return undefined
  const claimed = signedOf(evidence.proof, id, proof, undefined)
  if (typeof claimed === 'string') return claimed
  const trust = trustFor(evidence, claimed.head.checkpoint.origin)
  return typeof trust === 'object' ? signedOf(evidence.proof, id, proof, trust) : claimed
}

export const Signed = ({
  evidence,
  exported,
  id,
  proof,
}: {
  readonly evidence: ViewedEvidence
  readonly exported: boolean
  readonly id: string
  readonly proof: Proof
}): VNode => {
  const found = judged(evidence, id, proof)
  if (found === undefined)
    return (
      <section class="signed">
        <h3>Not signed</h3>
        <p>
          {evidence.why !== undefined
            ? sentence(evidence.why)
            : exported
              ? 'This file carries no signature: its store had no ledger of its sessions when the file was made.'
              : 'The store has no ledger of its sessions: “indelible ledger” makes and signs one.'}
        </p>
      </section>
    )
  if (typeof found === 'string')
    return (
      <section class="signed">
        <h3 class="bad">Not signed</h3>
        <p class="bad">{sentence(`the proof of the ledger is worth nothing: ${found}`)}</p>
      </section>
    )
  return <Judged evidence={evidence} found={found} proof={proof} />
}

const Judged = ({
  evidence,
  found,
  proof,
}: {
  readonly evidence: ViewedEvidence
  readonly found: Found
  readonly proof: Proof
}): VNode => {
  const { head, recorded, checkpoint } = found.head
  const rows = `${head.size === proof.computed.size ? 'all' : 'the first'} ${counted(head.size, 'row')}`
  const given = trustIn(givenKeys.value, checkpoint.origin)
  return (
    <section class="signed">
      {!found.same ? (
        <>
          <h3 class="bad">Not the signed record</h3>
          <p class="bad">
            The ledger says another head for the first {counted(head.size, 'row')}: the record was cut or replaced after
            the ledger took it.
          </p>
        </>
      ) : found.counts === true ? (
        <>
          <h3 class="good">Signed</h3>
          <p>The ledger has the head of {rows}, and a key that you trust has signed the ledger.</p>
        </>
      ) : (
        <>
          <h3 class={found.why === undefined ? '' : 'bad'}>
            {found.why === undefined ? 'Signed, not verified' : 'Not signed by a trusted key'}
          </h3>
          <p class={found.why === undefined ? '' : 'bad'}>
            {found.why === undefined
              ? `The ledger has the head of ${rows}. Give the keys that you trust, and the page verifies who has signed the ledger.`
              : sentence(found.why)}
          </p>
        </>
      )}
      <dl class="fields">
        <div>
          <dt>Checkpoint</dt>
          <dd>
            {shown(checkpoint.origin)}, {counted(checkpoint.head.size, 'row')} of the ledger
            <br />
            <code class="root">{`${checkpoint.head.size}:${checkpoint.head.root}`}</code>
          </dd>
        </div>
        <div>
          <dt>Covers</dt>
          <dd>
            {rows}
            {recorded === undefined ? '' : `, taken into the ledger ${timeText(recorded)}`}
            <br />
            <code class="root">{`${head.size}:${head.root}`}</code>
          </dd>
        </div>
        <div>
          <dt>Signed by</dt>
          <dd>
            <ul class="signatures">
              {found.signatures.map((one) => (
                <li>
                  <span class="key-name">{shown(one.name)}</span> <code>{one.keyId}</code>{' '}
                  <span class={one.verified === 'yes' ? 'good' : one.verified === 'no' ? 'bad' : 'quiet'}>
                    {signatureWords(one)}
                  </span>
                </li>
              ))}
            </ul>
          </dd>
        </div>
        <div>
          <dt>Not compared</dt>
          <dd>
            <ul class="signatures">
              {leftOpen(found, proof, given).map((text) => (
                <li>{text}</li>
              ))}
            </ul>
          </dd>
        </div>
      </dl>
      <label class="kept">
        Keys that you trust
        <textarea
          rows={2}
          spellcheck={false}
          placeholder="public keys, NAME+ID+BASE64, or a trust file"
          value={givenKeys.value}
          onInput={(event) => (givenKeys.value = event.currentTarget.value)}
        />
      </label>
      {typeof given === 'string' ? (
        <p class="bad" role="status">
          {sentence(given)}
        </p>
      ) : given === undefined && evidence.trust !== undefined ? (
        <p class="quiet">Without any, the keys of “indelible view --trust” count.</p>
      ) : null}
    </section>
  )
}

const signatureWords = ({ verified, by, at }: Signature): string => {
  const witness = by === 'witness' ? ' witness,' : ''
  if (verified === 'unknown') return 'not verified: its key was not given'
  return `${witness} ${verified === 'no' ? 'the signature does not fit' : 'verified'}${at === undefined ? '' : `, signed ${timeText(at)}`}`.trim()
}

/** What these keys leave open. */
const leftOpen = (
  { head: { head }, signatures, counts }: Found,
  { computed, stated }: Proof,
  given: Trust | string | undefined,
): readonly string[] => {
  const later = Math.max(computed.size, stated.size) - head.size
  const unknown = signatures.filter(({ verified }) => verified === 'unknown')
  return [
    ...(later > 0 ? [`the ${counted(later, 'row')} after them: appended since this checkpoint`] : []),
    ...(unknown.length > 0
      ? [
          `who made ${unknown.length === 1 ? 'the signature' : `${grouped(unknown.length)} signatures`} without a key here`,
        ]
      : []),
    ...(counts === true && typeof given === 'object' && !givenKeys.value.trim().startsWith('{')
      ? ['the origin, and how many witnesses must sign: only a trust file says that']
      : []),
    ...(signatures.some(({ verified, by }) => verified === 'yes' && by === 'witness')
      ? []
      : ['whether others were shown another ledger: no witness that you trust has signed']),
    'the other sessions of the ledger, and earlier checkpoints',
  ]
}
