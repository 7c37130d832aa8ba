/** The law of every reader and every codec: nothing of the input is dropped without a word. */
import { createHash, type Hash } from 'node:crypto'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { allCodecs } from '@indelible/codecs'
import type { Loss } from 'indelible/codecs'
import { conversationsOf, deepPlantings, fileOf, holds, misplacings, plantings, whereabouts } from './leaves.ts'
import { samples, wires } from './samples.ts'
import { isFull, oneIn } from '../../../test/rounds.ts'
import type { Codec } from 'indelible/internal/codecs'
import type { Path } from 'indelible/internal/json'

/** Digests of everything that was read, of each damaged input. */
const digests = new Map<string, Hash>()
const note = (name: string, read: unknown): void => {
  if (!digests.has(name)) digests.set(name, createHash('sha256'))
  digests.get(name)?.update(JSON.stringify(read) ?? 'refused')
}

describe('every leaf of a file ends up in messages, notes, aside, losses or damage', () => {
  for (const [name, { layout, input }] of Object.entries(samples))
    it(name, () => {
      const sound = conversationsOf(fileOf(input, layout))
      expect(sound?.flatMap(({ damage }) => damage)).toEqual([])
      const totals = new Map<string, readonly number[]>()
      const told: { [where: string]: number } = {}
      const dropped: string[] = []
      for (const planted of [...plantings(input), ...deepPlantings(input)]) {
        const read = conversationsOf(fileOf(planted.input, layout))
        note(`${name}, leaves`, read)
        const where = whereabouts(planted, layout, read, totals)
        if (where === undefined) dropped.push(`${planted.path.join('.')} ${planted.how}`)
        else told[where] = (told[where] ?? 0) + 1
      }
      expect(dropped).toEqual([])
      expect(told['read']).toBeGreaterThan(told['refused'] ?? 0)
    })
})

const every = oneIn(18)

describe('no replaced value makes a reader throw', () => {
  for (const [name, { layout, input }] of Object.entries(samples))
    it(name, () => {
      let number = 0
      for (const misplaced of misplacings(input))
        if (number++ % every === 0 && (layout === 'value' || Array.isArray(misplaced)))
          note(`${name}, misplaced`, conversationsOf(fileOf(misplaced, layout)))
    })
})

describe('every leaf of a wire format ends up in messages or losses', () => {
  for (const codec of Object.values(allCodecs) as readonly Codec<unknown>[])
    it(codec.format, () => {
      const dropped: string[] = []
      for (const wire of wires[codec.format] ?? [])
        for (const { input, path, how } of plantings(wire)) {
          const decoded = codec.decode(input)
          note(
            `codec ${codec.format}`,
            isLeft(decoded) ? decoded : [decoded, codec.encode(decoded.right.messages, { allow: 'unsettled' })],
          )
          if (isLeft(decoded) || holds(decoded.right.messages)) continue
          if (!decoded.right.losses.some((loss) => tells(loss, path))) dropped.push(`${path.join('.')} ${how}`)
        }
      expect(dropped).toEqual([])
      expect(wires[codec.format]).toBeDefined()
    })
})

// A digest does not say what changed: read the change, then write the file anew with `vitest run FILE --update`.
it.skipIf(isFull)('reading damaged inputs matches the recorded results', async () => {
  const lines = [...digests].map(([name, hash]) => `${name}: ${hash.digest('hex').slice(0, 16)}\n`)
  await expect(lines.join('')).toMatchFileSnapshot('every-leaf.txt')
})

/** A loss of a codec begins its path after the position in the list, or is of a field beside the list. */
const tells = ({ path }: Loss, planted: Path): boolean => path.every((step, index) => planted[index] === step)
