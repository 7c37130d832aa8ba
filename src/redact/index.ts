export { createRedactor, type Redact, type Redactor } from './message.ts'
export type { RedactOptions } from './redactor.ts'
export { secretRules, type RedactRule } from './rule.ts'
