/** The agents: how each is asked, and where it keeps its own record of the conversation. */
import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of the agents' packages: those of the lock file, or the newest. */
const packages = process.env['CLIENTS_PACKAGES'] ?? join(import.meta.dirname, 'node_modules')

/** Where an agent works: its home and its work folder, both empty at first. */
export interface Place {
  readonly home: string
  readonly work: string
}

/** An agent. */
export interface Agent {
  readonly name: string
  /** The package that carries it. */
  readonly package: string
  /** Its program; undefined if it is not installed. */
  readonly program: () => string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly prepare?: (place: Place) => void
  /** Whether only its session file is read: it is not recorded between it and its provider. */
  readonly isOnlyRead?: boolean
  /** Its arguments for a question: the first one, or one that goes on with the conversation. */
  readonly ask: (question: string, goesOn: boolean) => readonly string[]
  /** Whether it names its conversation to its provider: without that, a compaction is another session. */
  readonly isNamed: boolean
  /** Its arguments for a compaction by command, if it has one. */
  readonly compact?: readonly string[]
  /** Where it keeps the conversation, below its home. */
  readonly transcript: string
  /** Where all of its conversations are, those of sub-agents too. Default: `transcript`. */
  readonly files?: string
  /** Its name for `indelible mcp --install`; undefined if that does not know it. */
  readonly mcp?: string
  /** Whether `indelible keep --install` adds a hook. Default: true. */
  readonly hasHook?: boolean
  /** Arguments that let it run hooks and tools without asking. */
  readonly trust?: readonly string[]
}

const found = (...patterns: readonly string[]): string | undefined =>
  patterns.flatMap((pattern) => globSync(join(packages, pattern))).find((path) => existsSync(path))

export const agents: readonly Agent[] = [
  {
    name: 'Claude Code',
    package: '@anthropic-ai/claude-agent-sdk',
    isNamed: true,
    program: () => found('@anthropic-ai/claude-agent-sdk-linux-*/claude'),
    env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
    ask: (question, goesOn) => ['-p', ...(goesOn ? ['-c'] : []), question, '--autocompact', '100000'],
    compact: ['-p', '-c', '/compact'],
    mcp: 'claude-code',
    trust: ['--allowedTools', 'mcp__indelible__search'],
    transcript: '.claude/projects/*/*.jsonl',
    files: '.claude/projects/**/*.jsonl',
  },
  {
    name: 'Codex',
    package: '@openai/codex',
    isNamed: true,
    program: () => found('.bin/codex'),
    env: {},
    ask: (question, goesOn) => [
      'exec',
      ...(goesOn ? ['resume', '--last'] : []),
      '--skip-git-repo-check',
      '--dangerously-bypass-approvals-and-sandbox',
      '-c',
      'openai_base_url={OPENAI_BASE_URL}',
      '-c',
      'model_auto_compact_token_limit=100000',
      question,
    ],
    mcp: 'codex',
    trust: ['--dangerously-bypass-hook-trust'],
    transcript: '.codex/sessions/*/*/*/*.jsonl',
  },
  {
    name: 'opencode',
    package: 'opencode-ai',
    isNamed: true,
    program: () => found('.bin/opencode'),
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    prepare: ({ work }) => {
      const config = {
        autoupdate: false,
        model: 'scripted/gpt-5.2',
        provider: {
          scripted: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: '{env:OPENAI_BASE_URL}', apiKey: 'none' },
            models: { 'gpt-5.2': { limit: { context: 100_000, output: 1_000 } } },
          },
        },
      }
      writeFileSync(join(work, 'opencode.json'), JSON.stringify(config))
    },
    ask: (question, goesOn) => ['run', ...(goesOn ? ['-c'] : []), question],
    mcp: 'opencode',
    hasHook: false,
    transcript: '.local/share/opencode/opencode.db',
  },
  {
    name: 'Gemini CLI',
    package: '@google/gemini-cli',
    isNamed: false,
    program: () => found('.bin/gemini'),
    env: { GEMINI_API_KEY: 'none' },
    // With an address in its environment it takes an API key only if its settings say so.
    prepare: ({ home }) => {
      mkdirSync(join(home, '.gemini'))
      const settings = {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      }
      writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify(settings))
    },
    ask: (question, goesOn) => [
      ...(goesOn ? ['-r', 'latest'] : []),
      '-m',
      'gemini-2.5-pro',
      '--approval-mode',
      'yolo',
      '--skip-trust',
      '-p',
      question,
    ],
    mcp: 'gemini',
    transcript: '.gemini/tmp/*/chats/*.json*',
    files: '.gemini/tmp/*/chats/**/*.json*',
  },
  {
    name: 'Copilot CLI',
    package: '@github/copilot',
    isNamed: false,
    isOnlyRead: true,
    program: () => found('@github/copilot-linux-*/copilot'),
    env: {
      COPILOT_PROVIDER_TYPE: 'openai',
      COPILOT_PROVIDER_BASE_URL: '{OPENAI_BASE_URL}',
      COPILOT_PROVIDER_API_KEY: 'none',
      COPILOT_MODEL: 'gpt-5.2',
      COPILOT_OFFLINE: 'true',
    },
    ask: (question, goesOn) => [...(goesOn ? ['--continue'] : []), '-p', question, '--allow-all-tools'],
    transcript: '.copilot/session-state/*/events.jsonl',
  },
  {
    name: 'Qwen Code',
    package: '@qwen-code/qwen-code',
    isNamed: false,
    isOnlyRead: true,
    program: () => found('.bin/qwen'),
    env: { OPENAI_MODEL: 'gpt-5.2' },
    ask: (question, goesOn) => ['--auth-type', 'openai', '--yolo', ...(goesOn ? ['--continue'] : []), '-p', question],
    transcript: '.qwen/projects/*/chats/*.jsonl',
  },
]

/** pi, which can't be recorded by its provider's address alone: its settings name the provider. */
export const piAgent: Agent = {
  name: 'pi',
  package: '@earendil-works/pi-coding-agent',
  isNamed: false,
  program: () => found('.bin/pi'),
  env: { PI_OFFLINE: '1' },
  prepare: ({ home }) => {
    mkdirSync(join(home, '.pi/agent'), { recursive: true })
    const model = { id: 'gpt-5.2', name: 'scripted', reasoning: false, input: ['text'], contextWindow: 100_000, maxTokens: 1000, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } } // oxfmt-ignore
    const provider = { baseUrl: '{OPENAI_BASE_URL}', api: 'openai-completions', apiKey: 'none', models: [model] }
    writeFileSync(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { scripted: provider } }))
  },
  ask: (question, goesOn) => [
    '-p',
    '--provider',
    'scripted',
    '--model',
    'gpt-5.2',
    ...(goesOn ? ['-c'] : []),
    question,
  ],
  mcp: 'pi',
  transcript: '.pi/agent/sessions/*/*.jsonl',
}
