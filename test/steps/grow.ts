/**
 * Prints what grows faster than its input, as JSON lines: messages, streams and files that a provider or an attacker
 * chooses, at two sizes.
 */
import { stepsOf } from './count.ts'
import { cases } from './cases.ts'

const few = 150
const times = 4

for (const [name, prepare] of cases()) {
  prepare(few)() // compiles
  const steps = [few, few * times].map((count) => stepsOf(prepare(count)))
  process.stdout.write(`${JSON.stringify({ name, steps })}\n`)
}
