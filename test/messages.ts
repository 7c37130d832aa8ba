/** Conversations for the tests: written here, small, and covering every kind of part. */
import { assistant, file, image, reasoning, system, toolCall, toolResult, user, type Message } from 'indelible'
import { provider, refusal } from 'indelible/message'
import { blockIdOf, type BlockId } from '../src/proof/internal.ts'
import { memoryStore } from 'indelible/store'

/** A short agent conversation: instructions, a question, two parallel calls and their results, an answer. */
export const conversation = (): Message[] => [
  system('You are a coding agent.'),
  user('Why does the build fail?'),
  assistant('I will look.', toolCall('c1', 'read_file', { path: 'a.ts' }), toolCall('c2', 'run', '{"cmd": "build"}')),
  toolResult('c1', 'export const a = 1\n'),
  toolResult('c2', 'error: no such module', { isError: true }),
  assistant('A module is missing.'),
]

/** A stored file that a message names: what stores the message must have it. */
export const attachment: Uint8Array = new TextEncoder().encode('%PDF-1.7 a file')
export const attachmentId: BlockId = blockIdOf(attachment, memoryStore().hash)

/** One message with every part there is. `attachment` is the file that it names. */
export const everyPart: Message = {
  role: 'assistant',
  id: 'msg_1',
  name: 'agent',
  meta: { 'com.example': { deep: [1, null, { a: 'b' }] } },
  content: [
    { type: 'text', text: 'ünïcode 🙂\n', meta: { anthropic: { cache_control: { type: 'ephemeral' } } } },
    image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' }),
    image({ type: 'url', url: 'https://example.com/a.png' }),
    file({ type: 'block', id: attachmentId, mediaType: 'application/pdf' }, { name: 'a.pdf' }),
    toolCall('c1', 'f', '{not json'),
    { type: 'tool_result', callId: 'c0', name: 'g', isError: false, content: [{ type: 'text', text: '' }] },
    reasoning('because', { summary: ['in short'], signature: 'sig', encrypted: 'enc' }),
    refusal('no'),
    provider('acme', { anything: [true, 1e21, -1.5e-7, 'x'] }),
  ],
}
