/**
 * A witness on loopback, written from https://c2sp.org/tlog-witness@v1.0.0: it signs a checkpoint that continues the last
 * one it signed, and answers everything else with the status that the specification gives.
 */
import { createServer } from 'node:http'
import { verifyConsistency, emptyRoot } from '../../../src/proof/internal.ts'
import { newKey, signerOf } from '@indelible/evidence'
import { openNote, parseCheckpoint, parseNote, signatureLines, verifierOf } from '../src/internal.ts'
import { orThrow } from 'indelible'

export interface LoopbackWitness {
  readonly url: string
  readonly vkey: string
  /** The statuses that it answered with. */
  readonly answered: readonly number[]
  readonly close: () => Promise<void>
}

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'))

export const startWitness = async (
  name: string,
  logs: { readonly [origin: string]: string },
  { signs }: { readonly signs?: (text: string) => string } = {},
): Promise<LoopbackWitness> => {
  const { skey, vkey } = newKey(name, 'witness')
  const signer = orThrow(signerOf(skey))
  const last = new Map<string, { readonly size: number; readonly root: string }>()
  const answered: number[] = []
  const answerTo = async (body: string): Promise<readonly [number, string]> => {
    const split = body.indexOf('\n\n')
    const [old = '', ...proof] = body.slice(0, split).split('\n')
    const [, digits] = /^old (0|[1-9]\d*)$/.exec(old) ?? []
    const note = body.slice(split + 2)
    const parsed = parseNote(note)
    if (digits === undefined || parsed._tag === 'Left') return [400, 'malformed request\n']
    const checkpoint = orThrow(parseCheckpoint(parsed.right.text))
    const key = logs[checkpoint.origin]
    if (key === undefined) return [404, 'unknown log\n']
    if (openNote(note, [orThrow(verifierOf(key))])._tag === 'Left') return [403, 'no signature by a key of this log\n']
    const { head } = checkpoint
    const oldSize = Number(digits)
    if (oldSize > head.size) return [400, 'the old size is larger than the checkpoint\n']
    const before = last.get(checkpoint.origin) ?? { size: 0, root: '' }
    if (before.size !== oldSize) return [409, `${before.size}\n`]
    const hashes = proof.map((line) => Uint8Array.from(Buffer.from(line, 'base64')))
    const good =
      oldSize === 0
        ? hashes.length === 0 && (head.size > 0 || head.root === Buffer.from(emptyRoot()).toString('hex'))
        : verifyConsistency({
            oldSize,
            oldRoot: hex(before.root),
            size: head.size,
            root: hex(head.root),
            proof: hashes,
          })
    if (!good) return [422, 'the proof does not show that the log continues\n']
    last.set(checkpoint.origin, head)
    const text = signs?.(parsed.right.text) ?? parsed.right.text
    const signature = await signer.sign(new TextEncoder().encode(text))
    return [200, signatureLines([{ name: signer.name, keyId: signer.keyId, signature }])]
  }
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const [status, text] =
        request.method === 'POST' && request.url === '/add-checkpoint'
          ? await answerTo(Buffer.concat(chunks).toString())
          : [404, 'no such page\n']
      answered.push(status)
      response.writeHead(status, { 'content-type': status === 409 ? 'text/x.tlog.size' : 'text/plain' }).end(text)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    vkey,
    answered,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
