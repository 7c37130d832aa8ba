/** Arguments that can't be kept as the object that an API requires. */
import { expect, it } from 'vitest'
import { inputOf } from '../../src/codecs/input.ts'
import { inputOf as aiSdkInputOf } from '../../packages/codecs/src/ai-sdk/input.ts'

it('arguments nested too deep are kept as text, and nothing is reported that applies to their value only', () => {
  const deep = `{"a":1,"a":${'['.repeat(1001)}${']'.repeat(1001)}}`
  const { input, losses } = inputOf(deep)
  expect(input).toEqual({ arguments: deep })
  expect(losses).toEqual([expect.stringMatching(/nested deeper than 1000 levels: written as \{ "arguments": … \}$/)])
  expect(aiSdkInputOf(deep)).toEqual({ input: deep, losses: [] })
})
