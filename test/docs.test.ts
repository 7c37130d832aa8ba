import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { extractDocs } from '../scripts/extract-docs.ts'
import { root } from '../scripts/run.ts'

describe('the examples do what they say', () => {
  it.each(extractDocs().map((path) => [basename(path), path]))('%s', async (_name, path) => {
    await import(/* @vite-ignore */ path as string)
  })
})

it('every page of docs that README names exists, and README names every page', async () => {
  const { readdirSync } = await import('node:fs')
  const named = [...readFileSync(`${root}README.md`, 'utf8').matchAll(/\]\(docs\/([\w-]+\.md)\)/g)].map((match) => match[1])
  expect([...new Set(named)].toSorted()).toEqual(readdirSync(`${root}docs`).filter((name) => name.endsWith('.md')).toSorted())
})
