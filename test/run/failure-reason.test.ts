/** The reason of a lost connection names the address and the cause, with the providers' own clients. */
import { Anthropic } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { createServer, type AddressInfo } from 'node:net'
import { OpenAI } from 'openai'
import { expect, it } from 'vitest'
import { faultMessage } from 'indelible'
import { run, type Model } from 'indelible/run'
import { anthropicModel } from 'indelible/run/anthropic'
import { geminiModel } from 'indelible/run/gemini'
import { openaiChatModel } from 'indelible/run/openai'
import { failureReason } from '../../src/run/model/model-failure.ts'

const modelsAt = (url: string): readonly Model[] => [
  openaiChatModel(new OpenAI({ apiKey: 'k', baseURL: url, maxRetries: 0 }), { model: 'gpt-x' }),
  anthropicModel(new Anthropic({ apiKey: 'k', baseURL: url, maxRetries: 0 }), { model: 'claude-x' }),
  geminiModel(new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: url } }), { model: 'gemini-3-pro' }),
]

const sentenceOf = async (model: Model): Promise<string> => {
  const ended = await run({ model, input: 'hi' }).result()()
  return ended._tag === 'Left' ? faultMessage(ended.left) : 'it answered'
}

it('names a server that refuses connections', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => void server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => void server.close(resolve))
  for (const model of modelsAt(`http://127.0.0.1:${port}`))
    expect(await sentenceOf(model)).toContain(`connect ECONNREFUSED 127.0.0.1:${port}`)
})

it('names a server that closes the connection', async () => {
  const server = createServer((socket) => void socket.destroy()).listen(0, '127.0.0.1')
  await new Promise((resolve) => void server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const [openai] = modelsAt(`http://127.0.0.1:${port}`)
  expect(await sentenceOf(openai as Model)).toMatch(
    /^step 0: gpt-x failed: Connection error: .*(closed|reset|ECONNRESET)/i,
  )
  await new Promise((resolve) => void server.close(resolve))
})

it('keeps the message of an error without a cause, and ends with causes that contain themselves', () => {
  expect(failureReason(new Error('Overloaded.'))).toBe('Overloaded.')
  const loop = new Error('outer')
  loop.cause = loop
  expect(failureReason(loop)).toBe('outer')
  const refused = [new Error('connect ECONNREFUSED ::1:9'), new Error('connect ECONNREFUSED 127.0.0.1:9')]
  const fetchFailed = new TypeError('fetch failed', { cause: new AggregateError(refused) })
  expect(failureReason(new Error('Connection error.', { cause: fetchFailed }))).toBe(
    'Connection error: fetch failed: connect ECONNREFUSED ::1:9; connect ECONNREFUSED 127.0.0.1:9',
  )
})
