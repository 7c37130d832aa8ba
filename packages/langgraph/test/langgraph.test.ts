import { afterAll, describe } from 'vitest'
import { langgraphCases } from './langgraph-cases.ts'
import { inFiles, inMemory } from '../../../test/session/kept-places.ts'
import { rounds } from '../../../test/rounds.ts'

const files = inFiles()
afterAll(files.leave)

describe('langgraph, in memory', () => langgraphCases(inMemory, rounds(25, 1000)))
describe('langgraph, in SQLite', () => langgraphCases(files, rounds(4, 200)))
