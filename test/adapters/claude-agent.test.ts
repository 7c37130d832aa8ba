import { afterAll, describe } from 'vitest'
import { claudeCases } from './claude-agent-cases.ts'
import { inFiles, inMemory } from './places.ts'

const files = inFiles()
afterAll(files.leave)
const soak = Number(process.env['INDELIBLE_SOAK'] ?? 1)

describe('claude-agent, in memory', () => claudeCases(inMemory, 60 * soak))
describe('claude-agent, in SQLite', () => claudeCases(files, 8 * soak))
