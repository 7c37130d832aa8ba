/** `--redact`: what commands that record take out of texts, and what they say of it. */
import { createRedactor, type Redactor } from 'indelible/redact'
import type { Call, Terminal } from '../terminal/command.ts'
import { counted } from '../terminal/screen.ts'

/** What takes secrets out, if it was asked for. */
export const redactorIn = (values: Call['values']): Redactor | undefined =>
  values['redact'] === true ? createRedactor() : undefined

/** Say how many secrets were taken out, by rule. */
export const tellRedacted = (redactor: Redactor | undefined, terminal: Terminal): void => {
  if (redactor === undefined) return
  const counts = [...redactor.counts()]
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  const by = counts.map(([rule, count]) => `${rule} ${count}`).join(', ')
  terminal.tell([`redacted: ${counted(all, 'secret')}${all === 0 ? '' : ` (${by})`}`])
}
