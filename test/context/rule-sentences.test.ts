/** Whether a rule can be told by its text: patterns on 300 labelled sentences, and what `classify` does with them. */
import { describe, expect, it } from 'vitest'
import { classify, user } from 'indelible'
import { rules, traps } from './rule-sentences.ts'

/** From the widest to the narrowest. The third was made with these very sentences at hand. */
const patterns = {
  'the word anywhere': /\b(?:must|never|always|do not|don't|only|forbidden|not allowed)\b/i,
  'the word at the beginning': /^(?:please )?(?:never|always|do not|don't|you must|you may only|only)\b/i,
  'the word at the beginning, without the known traps':
    /^(?:please )?(?:never(?! (?:mind|seen|thought|again|better|is))|always(?! (?:good|the|wanted|happens|returns|fails|on))|do not(?! (?:worry|panic|get|bother|you|ask|stop))|don't(?! (?:worry|you|know|get|forget|bother|start|stop))|you must (?:not|never|ask|keep)|you may only|you are not allowed)\b[^?]*$/i,
  'phrases of rules':
    /^(?:from now on|for the rest of this|whenever|under no circumstances|at no point|(?:ground )?rule\b.*:)/i,
} as const

const count = (sentences: readonly string[], pattern: RegExp): number =>
  sentences.filter((sentence) => pattern.test(sentence)).length

describe('rule sentences and sentences that only sound like rules', () => {
  it('are 150 of each without duplicates', () => {
    expect([rules.length, traps.length, new Set([...rules, ...traps]).size]).toEqual([150, 150, 300])
  })
  it('are not separated by any pattern with a fifth recall and 98 % precision', () => {
    const figures = Object.values(patterns).map((pattern) => {
      const [right, wrong] = [count(rules, pattern), count(traps, pattern)]
      return { precision: right / (right + wrong), found: right / rules.length }
    })
    for (const { precision, found } of figures) expect(precision >= 0.98 && found >= 0.2).toBe(false)
    expect(
      figures.map(({ precision, found }) => [precision, found].map((share) => Math.round(share * 1000) / 10)),
    ).toEqual([
      [43.2, 64],
      [59.1, 43.3],
      [92.5, 41.3],
      [100, 9.3],
    ])
  })
  it('are therefore never classified as a constraint', () => {
    for (const sentence of [...rules, ...traps]) expect(classify(user(sentence))).toBe('conversation')
  })
})
