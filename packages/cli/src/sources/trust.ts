/** The option `--trust`: the keys whose signatures count, from a file. */
import { evidenceFaultMessage, type Trust } from '@indelible/evidence'
import { readTrust } from '@indelible/evidence/internal'
import { isLeft, parseJson } from 'indelible/internal/json'
import { optionFile } from './input.ts'
import { Unreadable, type Call, type Command, type Terminal } from '../terminal/command.ts'

export const trustOptions: Command['options'] = {
  trust: {
    value: 'FILE',
    help: 'whose signatures count, as JSON: { "origin": NAME, "keys": [VKEY], "witnesses": [VKEY], "quorum": how many of the witnesses }',
  },
}

/** The trust given by `--trust`. Throws Unreadable. */
export const trustOf = (values: Call['values'], terminal: Terminal): Trust | undefined => {
  const file = values['trust']
  if (typeof file !== 'string') return undefined
  const value = parseJson(optionFile('--trust', file, terminal))
  if (isLeft(value))
    throw new Unreadable(`--trust ${file}: is not JSON at line ${value.left.line}, column ${value.left.column}`)
  const trust = readTrust(value.right)
  if (isLeft(trust)) throw new Unreadable(`--trust ${file}: ${evidenceFaultMessage(trust.left)}`)
  return trust.right
}
