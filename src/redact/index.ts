export { createRedactor, type Redact, type Redactor } from './message.ts'
export { type Redacted, type RedactOptions, type TextRedactor } from './redactor.ts'
export { secretRules, type RedactRule } from './rule.ts'
