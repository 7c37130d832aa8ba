/**
 * Prints how often code uses the history of earlier calls, from a file of call records or log lines, one JSON value a line:
 *
 *     node packages/records/examples/history-use.ts calls.jsonl
 *
 * Exit code 1 if a line is not JSON; the other lines are read.
 */
// oxlint-disable no-console -- it prints
import { readFileSync } from 'node:fs'
import { summarizeHistoryUse } from '@indelible/records'

const [path, ...names] = process.argv.slice(2)
if (path === undefined) throw new Error('usage: history-use.ts FILE [NAME…], with the names of the history in the code')

const entries: { readonly value: unknown; readonly line: number }[] = []
for (const [index, text] of readFileSync(path, 'utf8').split('\n').entries()) {
  if (text.trim() === '') continue
  try {
    entries.push({ value: JSON.parse(text), line: index + 1 })
  } catch {
    console.error(`line ${index + 1} is not JSON`)
    process.exitCode = 1
  }
}
const { observed, using, patterns, evidence, skipped } = summarizeHistoryUse(
  entries.map(({ value }) => value),
  names.length === 0 ? {} : { names },
)
console.log(`history used in ${using} of ${observed} calls`)
for (const { pattern, calls } of patterns) console.log(`${pattern.padEnd(8)} ${calls}`)
for (const { index, patterns: used, text = '' } of evidence)
  console.log(`line ${entries[index]?.line}: ${used.join(' ')}  ${JSON.stringify(text)}`)
for (const { index, reason } of skipped) console.log(`line ${entries[index]?.line} was left out: ${reason}`)
