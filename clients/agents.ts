/** The agents: how each is asked, and where it keeps its own record of the conversation. */
import { existsSync, globSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

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
  readonly prepare?: (place: Place, provider: string) => void
  /** Whether only its session file is read: it is not recorded between it and its provider. */
  readonly isOnlyRead?: boolean
  /** Whether it can't go on with a conversation here. */
  readonly asksOnce?: boolean
  /** Whether `keep` and `mcp` are not tried with it: it has neither a hook nor an entry of theirs. */
  readonly isNotKept?: boolean
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
  /** How it is made to lose the provider's cache; undefined if that is not tried with it. */
  readonly losesCache?: {
    /** Arguments of each run. */
    readonly usual: readonly string[]
    /** Arguments that change its tools. */
    readonly otherTools: readonly string[]
    /** Whether its file has its tools. */
    readonly keepsTools: boolean
    /** The tokens of a block of its provider's cache. */
    readonly block: number
  }
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
    losesCache: { usual: [], otherTools: ['--disallowedTools', 'ReportFindings'], keepsTools: true, block: 1 },
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
      'analytics.enabled=false', // without a way out it waits 5 s for them at its end
      '-c',
      'model_auto_compact_token_limit=100000',
      question,
    ],
    mcp: 'codex',
    trust: ['--dangerously-bypass-hook-trust'],
    // It appends what changes of its tools, which loses nothing of the cache, unless that is switched off.
    losesCache: {
      usual: ['--disable', 'incremental_tools'],
      otherTools: ['--disable', 'sleep_tool'],
      keepsTools: false,
      block: 128,
    },
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
        // It reads its own two skills at once, and lists the one first that was read first: a tool of another session then has another text.
        skills: { disabled: ['antigravity-support'] },
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
  {
    name: 'pi',
    package: '@earendil-works/pi-coding-agent',
    isNamed: false,
    isOnlyRead: true,
    program: () => found('.bin/pi'),
    env: { PI_OFFLINE: '1' },
    prepare: ({ home }, provider) => {
      const model = { id: 'gpt-5.2', name: 'gpt-5.2', reasoning: false, input: ['text'], contextWindow: 100_000 }
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
      const own = { baseUrl: `${provider}/v1`, api: 'openai-completions', apiKey: 'none' }
      const models = [{ ...model, maxTokens: 1000, cost }]
      writeIn(home, '.pi/agent/models.json', JSON.stringify({ providers: { scripted: { ...own, models } } }))
    },
    ask: (question, goesOn) => [
      ...['-p', '--provider', 'scripted', '--model', 'gpt-5.2'],
      ...(goesOn ? ['-c'] : []),
      question,
    ],
    mcp: 'pi',
    transcript: '.pi/agent/sessions/*/*.jsonl',
  },
  {
    name: 'Kimi Code',
    package: '@moonshot-ai/kimi-code',
    isNamed: false,
    isOnlyRead: true,
    isNotKept: true,
    program: () => found('.bin/kimi'),
    env: {},
    prepare: ({ home }, provider) =>
      writeIn(
        home,
        '.kimi-code/config.toml',
        [
          'default_model = "scripted"',
          '[models.scripted]\nprovider = "scripted"\nmodel = "gpt-5.2"\nmax_context_size = 100000',
          `[providers.scripted]\ntype = "openai"\nbase_url = "${provider}/v1"\napi_key = "none"\n`,
        ].join('\n'),
      ),
    ask: (question, goesOn) => [...(goesOn ? ['-c'] : []), '-p', question],
    transcript: '.kimi-code/sessions/*/*/agents/main/wire.jsonl',
  },
  {
    name: 'Droid',
    package: 'droid',
    isNamed: false,
    isOnlyRead: true,
    isNotKept: true,
    // To go on with a session it needs an account.
    asksOnce: true,
    program: () => found('.bin/droid'),
    env: { FACTORY_API_KEY: 'none' },
    prepare: ({ home }, provider) => {
      const model = { displayName: 'scripted', model: 'scripted-1', provider: 'generic-chat-completion-api' }
      const customModels = [{ ...model, baseUrl: `${provider}/v1`, apiKey: 'none', maxOutputTokens: 1000 }]
      writeIn(home, '.factory/settings.json', JSON.stringify({ customModels }))
    },
    ask: (question) => ['exec', '--auto', 'high', '-m', 'custom:scripted-1', question],
    transcript: '.factory/sessions/*/*.jsonl',
  },
  {
    name: 'Cline',
    package: 'cline',
    isNamed: false,
    isOnlyRead: true,
    isNotKept: true,
    asksOnce: true,
    program: () => found('@cline/cli-linux-*/bin/cline'),
    env: {},
    prepare: ({ home }, provider) => {
      const settings = { provider: 'openai-compatible', apiKey: 'none', model: 'gpt-5.2', baseUrl: `${provider}/v1` }
      const own = { settings, updatedAt: '2026-11-29T00:00:00.000Z', tokenSource: 'manual' }
      const providers = { version: 1, lastUsedProvider: 'openai-compatible', providers: { 'openai-compatible': own } }
      writeIn(home, '.cline/data/settings/providers.json', JSON.stringify(providers))
    },
    ask: (question) => [question],
    transcript: '.cline/data/sessions/*/*.messages.json',
  },
]

/** Write a file into a folder of the home. */
const writeIn = (home: string, path: string, text: string): void => {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}
