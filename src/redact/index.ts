export { createRedactor, type Redact, type Redactor } from './message.ts'
export type { Redacted } from './mark.ts'
export type { RedactOptions, TextRedactor } from './redactor.ts'
export { secretRules, type RedactRule } from './rule.ts'
