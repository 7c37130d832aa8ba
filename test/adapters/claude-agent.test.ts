import { afterAll, describe } from 'vitest'
import { claudeCases } from './claude-agent-cases.ts'
import { inFiles, inMemory } from './places.ts'
import { rounds } from '../rounds.ts'

const files = inFiles()
afterAll(files.leave)

describe('claude-agent, in memory', () => claudeCases(inMemory, rounds(25, 1000)))
describe('claude-agent, in SQLite', () => claudeCases(files, rounds(4, 200)))
