/** Which messages count as equal. */
import { describe, expect, it } from 'vitest'
import { Matching } from '../../src/replay/matching.ts'
import { folderOf, withFolder, type WorkFolder } from '../../src/replay/work-folder.ts'
import type { Message } from 'indelible'

const item = (type: string, id: string, name: string): Message => ({
  role: 'developer',
  content: [
    { type: 'provider', provider: 'openai-responses', raw: { type, id, tools: [{ type: 'custom', id: 't', name }] } },
  ],
})

it('the id that Codex makes up for its list of tools is not compared; its tools, and ids of other items, are', () => {
  const identity = (message: Message) => new Matching([]).identity(message, undefined)
  const first = identity(item('additional_tools', 'at_1', 'exec'))
  expect(identity(item('additional_tools', 'at_2', 'exec'))).toBe(first)
  expect(identity(item('additional_tools', 'at_1', 'other'))).not.toBe(first)
  expect(identity(item('computer_call', 'c_1', 'exec'))).not.toBe(identity(item('computer_call', 'c_2', 'exec')))
})

it.each([
  [
    'Script completed\nWall time 0.2 seconds\nOutput:\n\nalpha',
    'Script completed\nWall time 12 seconds\nOutput:\n\nalpha',
    true,
  ],
  ['Wall time: 0.2 seconds\nalpha', 'Wall time: 0.1 seconds\nalpha', true],
  ['Wall time 0.2 seconds\nalpha', 'Wall time 0.2 seconds\nbeta', false],
  ['Wall time 2 seconds of silence', 'Wall time 3 seconds of silence', false],
])('the time that a result of Codex took is not compared: %j, %j', (a, b, isEqual) => {
  const result = (text: string): Message => ({
    role: 'tool',
    content: [{ type: 'tool_result', callId: 'c', content: [{ type: 'text', text }] }],
  })
  const [first, second] = [a, b].map((text) => new Matching([]).identity(result(text), undefined))
  expect(first === second).toBe(isEqual)
})

const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })

/** The first message of Gemini CLI 0.61.0. */
const geminiContext = (work: string, project: string): string =>
  `<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\nThe project's temporary directory is: /home/ada/.gemini/tmp/${project}\n- **Workspace Directories:**\n  - ${work}\n- **Directory Structure:**\n\n${work}/\n└───note.txt\n</session_context>`

const gemini = (work: string, project: string, ...texts: readonly string[]): readonly Message[] => [
  user(geminiContext(work, project)),
  ...texts.map(user),
]

/** Whether two conversations count as equal, each in its own folder, if `folder` is ignored. */
const isEqual = (a: readonly Message[], b: readonly Message[]): boolean => {
  const matching = new Matching(['folder'])
  const [first, second] = [a, b].map((messages) => {
    const folder = folderOf({ system: undefined, messages })
    return messages.map((message) => matching.identity(message, folder)).join(' ')
  })
  return first === second
}

describe('ignoring the folder', () => {
  it.each([
    ['/work/app', 'app', '/else/other', 'other'],
    ['/work/My App_2', 'my-app-2', '/else/x', 'x'],
    ['/work/app', 'app', '/tmp/copy/app', 'app-1'], // another folder has the name
    ['/work/app', 'app-3', '/else/---', 'project'],
    ['/work/2026-01-02/app', 'app', '/work/2026-11-30/app', 'app-1'],
  ])('knows the name that Gemini CLI has for %s, %s', (work, project, other, otherProject) => {
    const said = (folder: string, name: string): string =>
      `I wrote /home/ada/.gemini/tmp/${name}/plan.md, and ${folder}/a and ${folder}.`
    expect(
      isEqual(gemini(work, project, said(work, project)), gemini(other, otherProject, said(other, otherProject))),
    ).toBe(true)
  })

  it.each([
    // Another project's folder
    ['/home/ada/.gemini/tmp/site', '/home/ada/.gemini/tmp/blog'],
    ['/home/ada/.gemini/tmp/app-1', '/home/ada/.gemini/tmp/other-1'],
    ['/home/ada/.gemini/tmp/app.old', '/home/ada/.gemini/tmp/other.old'],
    // The same name below another folder, or alone
    ['/home/ada/notes/app', '/home/ada/notes/other'],
    ['the app is slow', 'the other is slow'],
    // Paths that only begin or end like it
    ['/work/app2/a', '/else/other2/a'],
    ['/work/app-old', '/else/other-old'],
    ['/work/app.bak', '/else/other.bak'],
    ['/home/work/app', '/home/else/other'],
    ['my-work-app', 'my-else-other'],
    ['/work', '/else'],
  ])('compares %s with %s', (a, b) => {
    expect(isEqual(gemini('/work/app', 'app', a), gemini('/else/other', 'other', b))).toBe(false)
  })

  it.each([
    ['a name that is not that of the work folder', 'elsewhere', 'nowhere'],
    ['a number that is none', 'app-x', 'other-x'],
  ])('compares a temporary folder of %s', (_, a, b) => {
    expect(isEqual(gemini('/work/app', a), gemini('/else/other', b))).toBe(false)
  })

  it.each([
    ['{"command":"ls\\n/work/app/a -I/work/app/b"}', '{"command":"ls\\n/else/other/a -I/else/other/b"}'],
    [
      'file:///work/app, "/work/app" and /private/work/app.',
      'file:///else/other, "/else/other" and /private/else/other.',
    ],
    ['\u001b[35m/work/app/a\u001b[0m', '\u001b[35m/else/other/a\u001b[0m'],
    ['~/.claude/projects/-work-app/memory', '~/.claude/projects/-else-other/memory'],
    ['PATH=/work/app/bin:/work/app/sbin', 'PATH=/else/other/bin:/else/other/sbin'],
  ])('finds it in %s', (a, b) => {
    expect(isEqual(gemini('/work/app', 'app', a), gemini('/else/other', 'other', b))).toBe(true)
  })

  it('puts the names of the new folder into a recorded answer', () => {
    const [recorded, now] = [gemini('/work/app', 'app'), gemini('/tmp/copy/app', 'app-1')].map(
      (messages) => folderOf({ system: undefined, messages }) as WorkFolder,
    ) as [WorkFolder, WorkFolder]
    const answer = '{"a":"/work/app/x","b":"/home/ada/.gemini/tmp/app/plan.md","c":"/p/-work-app/m","d":"/work/app-2"}'
    expect(withFolder(answer, recorded, now)).toBe(
      '{"a":"/tmp/copy/app/x","b":"/home/ada/.gemini/tmp/app-1/plan.md","c":"/p/-tmp-copy-app/m","d":"/work/app-2"}',
    )
  })
})
