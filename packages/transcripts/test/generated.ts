/** Transcripts of any size, made piece by piece: what the memory of a reader is measured on. */

/** About a kilobyte an entry, with a branch every hundred. */
export function* generated(format: string, bytes: number): Generator<Uint8Array> {
  let made = 0
  let piece = ''
  for (let number = 0; made < bytes; number++) {
    const line = `${JSON.stringify(entry(format, number))}\n`
    piece += line
    made += line.length
    if (piece.length < 1 << 16) continue
    yield Buffer.from(piece)
    piece = ''
  }
  if (format === 'indelible') piece += '{"head":{"size":0}}\n'
  yield Buffer.from(piece)
}

const filler = 'The build fails since the module was renamed; look at the imports first. '.repeat(12)
const uuid = (number: number): string => `9d3f2c1a-0000-4000-8000-${number.toString(16).padStart(12, '0')}`
const timestamp = '2026-01-01T00:00:00.000Z'

const entry = (format: string, number: number): object => {
  const parent = number === 0 ? null : uuid(number % 100 === 99 && number > 100 ? number - 50 : number - 1)
  const text = `${number} ${filler}`
  switch (format) {
    case 'pi-session':
      if (number === 0) return { type: 'session', version: 3, id: 's', timestamp }
      return {
        type: 'message',
        id: uuid(number),
        parentId: number === 1 ? null : parent,
        timestamp,
        message: { role: number % 2 === 0 ? 'assistant' : 'user', content: [{ type: 'text', text }] },
      }
    case 'claude-code': {
      const envelope = {
        parentUuid: parent,
        isSidechain: false,
        sessionId: 's',
        version: '2.1.0',
        uuid: uuid(number),
        timestamp,
      }
      if (number % 2 === 0) return { ...envelope, type: 'user', message: { role: 'user', content: text } }
      return {
        ...envelope,
        type: 'assistant',
        message: {
          id: `msg_${number}`,
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [{ type: 'text', text }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      }
    }
    case 'codex':
      if (number === 0) return { timestamp, type: 'session_meta', payload: { id: 's', cli_version: '0.150.0' } }
      return {
        timestamp,
        type: 'response_item',
        payload: {
          type: 'message',
          role: number % 2 === 0 ? 'assistant' : 'user',
          content: [{ type: number % 2 === 0 ? 'output_text' : 'input_text', text }],
        },
      }
    case 'messages':
      return { role: number % 2 === 0 ? 'user' : 'assistant', content: text, ...(number === 1 && { refusal: null }) }
    case 'conversations':
      return { messages: [{ role: 'user', content: text }] }
    default:
      if (number === 0) return { indelible: 'export', version: 1, id: 's', metadata: {} }
      return { message: { role: 'user', content: [{ type: 'text', text }] }, page: 'conversation' }
  }
}
