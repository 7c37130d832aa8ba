/**
 * The types of the Claude Agent SDK's `SessionStore`, structurally: a store of ours is assignable to its interface (a type
 * test in `adapters/` says so) without depending on it.
 *
 * Source  `@anthropic-ai/claude-agent-sdk` 0.3.330
 */

/** A transcript in the store: of a session, or of one of its sub-agents. */
export interface ClaudeKey {
  /** The project, or the tenant. */
  readonly projectKey: string
  /** The id of the session. */
  readonly sessionId: string
  /** The sub-agent's file. Default: the main transcript. */
  readonly subpath?: string
}

/** A line of a transcript. */
export type ClaudeEntry = {
  /** What it is. */
  type: string
  /** Its id. Lines with one are stored once. */
  uuid?: string
  /** When it was written, by the clock of its writer. */
  timestamp?: string
  [field: string]: unknown
}

/** What is known of a session without reading it. */
export type ClaudeSummary = {
  /** The id of the session. */
  sessionId: string
  /** When it was last appended to, by the store's clock: milliseconds since 1970. */
  mtime: number
  /** The SDK's own, as `foldSessionSummary` gives it. */
  data: Record<string, unknown>
}

/** `foldSessionSummary` of the SDK. */
export type FoldSummary = (
  previous: ClaudeSummary | undefined,
  key: { projectKey: string; sessionId: string; subpath?: string },
  entries: ClaudeEntry[],
  options?: { mtime?: number },
) => ClaudeSummary
