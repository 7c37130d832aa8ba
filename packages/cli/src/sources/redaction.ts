/** `--redact`: removes secrets in recording commands, and reports the removals. */
import { createRedactor, type Redactor } from 'indelible/redact'
import type { Call, Terminal } from '../terminal/command.ts'
import { countText } from '../terminal/screen.ts'

/** The redactor, if it was requested. */
export const redactorIn = (values: Call['values']): Redactor | undefined =>
  values['redact'] === true ? createRedactor() : undefined

/** Report how many secrets were removed, by rule. */
export const reportRedactions = (redactor: Redactor | undefined, terminal: Terminal): void => {
  if (redactor === undefined) return
  const counts = [...redactor.counts()]
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  const by = counts.map(([rule, count]) => `${rule} ${count}`).join(', ')
  terminal.tell([`redacted: ${countText(all, 'secret')}${all === 0 ? '' : ` (${by})`}`])
}
