import { afterAll, describe } from 'vitest'
import { claudeCases } from './claude-agent-cases.ts'
import { inFiles, inMemory } from '../../../test/session/kept-places.ts'
import { rounds } from '../../../test/rounds.ts'

const files = inFiles()
afterAll(files.leave)

describe('claude-agent, in memory', () => claudeCases(inMemory, rounds(25, 1000)))
describe('claude-agent, in SQLite', () => claudeCases(files, rounds(4, 200)))
