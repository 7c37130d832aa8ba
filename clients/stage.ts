/**
 * Where one agent is asked: empty folders, the scripted provider, and its program. Its name and a folder are the arguments
 * of the process.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { providerServer } from '../test/run/provider-server.ts'
import { agents, type Agent, type Place } from './agents.ts'
import type { PromptCache } from './prompt-cache.ts'
import { scripted } from './scripted.ts'

export interface Stage {
  readonly agent: Agent
  readonly program: string
  readonly folder: string
  readonly place: Place
  /** Run a command in the work folder. The reason why it failed, if it did. */
  readonly run: (
    command: string,
    args: readonly string[],
    variables?: { readonly [name: string]: string },
  ) => Promise<string | undefined>
  /** A text with the provider's addresses in place of their names, such as `{OPENAI_BASE_URL}`. */
  readonly withAddresses: (text: string) => string
  readonly close: () => Promise<void>
}

/** @param cache how the provider counts what is read again. Default: as much as leaves no question why */
export const stage = async (cache?: PromptCache): Promise<Stage> => {
  const [name, folder = ''] = process.argv.slice(2)
  const agent = agents.find((agent) => agent.name === name)
  const program = agent?.program()
  if (agent === undefined || program === undefined) throw new Error(`${name} is not here`)
  const place = { home: join(folder, 'home'), work: join(folder, 'work') }
  mkdirSync(place.home)
  mkdirSync(place.work)
  writeFileSync(join(place.work, 'note.txt'), 'first:alpha\nsecond:beta\n')
  const provider = await providerServer((request) => {
    const reply = scripted(request, cache)
    if (process.env['CLIENTS_WIRE'] !== undefined)
      writeFileSync(join(folder, 'wire.jsonl'), `${JSON.stringify({ ...request, reply })}\n`, { flag: 'a' })
    return reply
  })
  agent.prepare?.(place, provider.url)
  const addresses: Readonly<Record<string, string>> = {
    OPENAI_BASE_URL: `${provider.url}/v1`,
    OPENAI_API_KEY: 'none',
    ANTHROPIC_BASE_URL: provider.url,
    ANTHROPIC_API_KEY: 'none',
    GOOGLE_GEMINI_BASE_URL: provider.url,
  }
  const env: Record<string, string | undefined> = { PATH: process.env['PATH'], HOME: place.home, ...addresses }
  const withAddresses = (text: string): string =>
    text.replaceAll(/\{(\w+)\}/g, (all, key: string) => addresses[key] ?? all)
  for (const [key, value] of Object.entries(agent.env)) env[key] = withAddresses(value)
  const run: Stage['run'] = (command, args, variables = {}) =>
    new Promise((resolve) => {
      const child = spawn(command, args, {
        cwd: place.work,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...env, ...variables },
      })
      let printed = ''
      child.stdout.on('data', (chunk) => (printed += String(chunk)))
      child.stderr.on('data', (chunk) => (printed += String(chunk)))
      const timer = setTimeout(() => child.kill('SIGKILL'), 600_000) // ends a hang
      child.on('close', (code) => {
        clearTimeout(timer)
        resolve(code === 0 ? undefined : `exit code ${code}: ${printed.slice(-1500)}`)
      })
    })
  return { agent, program, folder, place, run, withAddresses, close: provider.close }
}
