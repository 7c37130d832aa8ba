import { afterAll, describe } from 'vitest'
import { langgraphCases } from './langgraph-cases.ts'
import { inFiles, inMemory } from './places.ts'

const files = inFiles()
afterAll(files.leave)
const soak = Number(process.env['INDELIBLE_SOAK'] ?? 1)

describe('langgraph, in memory', () => langgraphCases(inMemory, 60 * soak))
describe('langgraph, in SQLite', () => langgraphCases(files, 8 * soak))
