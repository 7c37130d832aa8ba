/**
 * The types of the Claude Agent SDK's `SessionStore`, declared structurally: our store is assignable
 * to its interface without a dependency on the SDK (a type test in `adapters/` checks it).
 *
 * Source  `@anthropic-ai/claude-agent-sdk` 0.3.330
 */

/** Identifies a transcript in the store: of a session, or of one of its sub-agents. */
export interface ClaudeKey {
  /** The project, or the tenant. */
  readonly projectKey: string
  /** The id of the session. */
  readonly sessionId: string
  /** The sub-agent's subpath. Default: the main transcript. */
  readonly subpath?: string
}

/** A line of a transcript. */
export type ClaudeEntry = {
  /** The type of the line. */
  type: string
  /** Its id. A line with an id is stored once. */
  uuid?: string
  /** The time of writing, by the writer's clock. */
  timestamp?: string
  [field: string]: unknown
}

/** The summary of a session. */
export type ClaudeSummary = {
  /** The id of the session. */
  sessionId: string
  /** The time of its last append by the store's clock, in milliseconds since 1970. */
  mtime: number
  /** The SDK's own data, from `foldSessionSummary`. */
  data: Record<string, unknown>
}

/** The type of the SDK's `foldSessionSummary`. */
export type FoldSummary = (
  previous: ClaudeSummary | undefined,
  key: { projectKey: string; sessionId: string; subpath?: string },
  entries: ClaudeEntry[],
  options?: { mtime?: number },
) => ClaudeSummary
