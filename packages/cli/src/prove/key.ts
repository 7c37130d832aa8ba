/** `indelible key new`: creates a key that signs checkpoints. */
import { newKey } from '@indelible/evidence'
import { writeSecret } from '../sources/key-file.ts'
import { Misuse, type Command } from '../terminal/command.ts'

export const key: Command = {
  name: 'key',
  synopsis: 'key new NAME',
  purpose: 'make a key that signs checkpoints',
  usage: ['key new NAME --out FILE [--witness]'],
  about: `Makes an Ed25519 key. Writes the private key to FILE, which only you can read,
and prints the public key, which verifiers need. FILE must not exist yet.

NAME names the key in signatures, such as example.com/agents. It has no spaces
and no plus signs.`,
  options: {
    out: { value: 'FILE', help: 'where the private key goes' },
    witness: { help: 'a key for a witness, which signs checkpoints of others' },
  },
  examples: ['indelible key new example.com/agents --out agents.key'],
  run: async ({ values, positionals, terminal }) => {
    const [verb, name, ...others] = positionals
    if (verb !== 'new' || name === undefined || others.length > 0)
      throw new Misuse('key takes "new" and a NAME: indelible key new example.com/agents --out agents.key')
    const out = values['out']
    if (typeof out !== 'string' || out === '') throw new Misuse('key new needs --out FILE: where the private key goes')
    if (!/^[^\s+\p{Cc}]+$/u.test(name))
      throw new Misuse(`key new: NAME ${JSON.stringify(name)} has a space or a plus sign`)
    const { vkey, skey } = newKey(name, values['witness'] === true ? 'witness' : 'log')
    writeSecret(out, terminal, `${skey}\n`, 'a key is never overwritten')
    await terminal.print([vkey])
    terminal.tell([`the private key is in ${out}; keep it secret, and give verifiers the line above`])
  },
}
