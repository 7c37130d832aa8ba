/** The grammar of bundles: our verifier gives the verdict of the table. `go.test.ts` asks the one in Go. */
import { isLeft } from '../../../src/json/index.ts'
import { checkBundle, readBundle } from '@indelible/evidence'
import { expect, it } from 'vitest'
import { bundleCases, bundleText, trust } from './bundles.ts'
import { rounds } from '../../../test/rounds.ts'

it('checkBundle accepts and refuses the bundles of the table as listed', () => {
  const verdicts = bundleCases.map(([name, , edits]) => {
    const bundle = readBundle(bundleText(edits))
    return [name, !isLeft(bundle) && !isLeft(checkBundle(bundle.right, trust))]
  })
  expect(verdicts).toEqual(bundleCases.map(([name, good]) => [name, good]))
})

it('readBundle refuses what is no text with the reason', () => {
  expect(readBundle(5 as never)).toMatchObject({ left: { _tag: 'BadBundle', reason: 'it is not a text' } })
})

it.each(['x', '\\"', ' '])('readBundle reads millions of %j in a bundle', (many) => {
  const inside = many.repeat(rounds(16_000_000 / many.length, 16_000_000))
  const text =
    many === ' ' ? bundleText({ text: (json) => `${json}${inside}` }) : bundleText().replace('"s"', `"${inside}"`)
  expect(readBundle(text)._tag).toBe('Right')
})
