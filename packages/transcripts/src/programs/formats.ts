/** Every format of a file, in the order in which they are tried: to add one, write its file and name it here. */
import { amp } from './amp.ts'
import { chatGpt } from './chatgpt.ts'
import { claudeAi } from './claude-ai.ts'
import { claudeCode } from './claude-code.ts'
import { claudeStream } from './claude-stream.ts'
import { cline } from './cline.ts'
import { codexExec } from './codex-exec.ts'
import { codexJson } from './codex-json.ts'
import { codex } from './codex.ts'
import { copilotCli } from './copilot-cli.ts'
import { crush } from './crush.ts'
import { cursor } from './cursor.ts'
import { droid } from './droid.ts'
import { indelibleExport } from './export.ts'
import type { FormatFacts } from '../format/format-facts.ts'
import type { ValueFormat } from '../format/found-conversation.ts'
import { geminiCli } from './gemini-cli.ts'
import { goose } from './goose.ts'
import { kimi } from './kimi.ts'
import { langgraph } from './langgraph.ts'
import type { LineFormat } from '../format/line-format.ts'
import { opencode } from './opencode.ts'
import { piSession } from './pi-session.ts'
import { qwenCode } from './qwen-code.ts'
import { sweAgent } from './swe-agent.ts'

/** Files with one entry a line. Any single entry identifies them. */
export const lineFormats: readonly LineFormat[] = [
  ...[indelibleExport, qwenCode, droid, copilotCli, claudeStream, codexExec, kimi, goose, piSession, claudeCode, codex],
  ...[geminiCli, opencode, cursor, langgraph, crush],
]

/** Files that are one JSON value. */
export const valueFormats: readonly ValueFormat[] = [chatGpt, claudeAi, cline, amp, codexJson, sweAgent]

export const formats: readonly FormatFacts[] = [...lineFormats, ...valueFormats]
