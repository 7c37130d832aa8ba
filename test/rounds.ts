/**
 * How much a test that has rounds does: few in `npm test`, all of them in `npm run check`.
 *
 * `INDELIBLE_ROUNDS` is the share of the full number, from 0 (the default: the few) to 1 (`full` says the same). A share
 * above 1 is a longer soak.
 */
const asked = process.env['INDELIBLE_ROUNDS'] ?? '0'
const share = asked === 'full' ? 1 : Number(asked)
if (!(share >= 0)) throw new Error(`INDELIBLE_ROUNDS is "${asked}"; expected a share from 0 to 1, or full`)

/** The number of rounds: `few`, or the share of `full` where that is more. */
export const rounds = (few: number, full: number): number => Math.max(few, Math.round(full * share))

/** Whether a test has few rounds, as in `npm test`. */
export const isShort: boolean = share === 0

/** Whether a test tries every case, instead of a sample of them. */
export const isFull: boolean = share >= 1

/** A step through cases: each of them at full size, otherwise one in `sampled`. */
export const oneIn = (sampled: number): number => (isFull ? 1 : sampled)
