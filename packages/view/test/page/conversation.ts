/** A conversation with everything that a timeline can show. */
import {
  assistant,
  createSession,
  forkSession,
  image,
  reasoning,
  text,
  toolCall,
  toolResult,
  user,
  developer,
  type Store,
} from 'indelible'

/** A red square of 8 by 8 pixels. */
export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC'

export const everything = async (store: Store): Promise<void> => {
  const session = await createSession(store, { id: 'everything', metadata: { title: 'Leap years' } })
  await session.append([
    developer(`You are a coding agent. ${'Follow the rules of the project. '.repeat(20)}`),
    user('Use tabs.\n\nAdd a test for **leap years**, please.'),
    {
      role: 'assistant',
      content: [
        reasoning('First I look at what is there. Then I write the test.'),
        text('I look at the tests first.'),
        toolCall('c1', 'bash', JSON.stringify({ command: 'ls test' })),
        toolCall('c2', 'read', JSON.stringify({ path: 'src/year.ts' })),
      ],
    },
    toolResult('c1', 'year.test.ts\nmonth.test.ts\n'),
    toolResult(
      'c2',
      JSON.stringify({ lines: 12, exports: ['isLeap', 'daysIn'], nested: { deep: [1, 2, { deeper: true }] } }),
    ),
    assistant(
      toolCall(
        'c3',
        'edit',
        JSON.stringify({
          path: 'src/year.ts',
          old_string: 'year % 4 === 0',
          new_string: 'year % 4 === 0 && year % 100 !== 0',
        }),
      ),
    ),
    {
      role: 'tool',
      content: [
        { type: 'tool_result', callId: 'c3', content: [{ type: 'text', text: 'no such file' }], isError: true },
      ],
    },
    {
      role: 'user',
      content: [text('This is what I see:'), image({ type: 'base64', data: png, mediaType: 'image/png' })],
    },
    assistant(
      'The rule has three parts:\n\n1. by four\n2. not by a hundred\n3. but by four hundred\n\n```ts\nconst isLeap = (year: number): boolean => year % 4 === 0\n```\n\n| year | leap |\n|---|---|\n| 1900 | no |\n| 2000 | yes |',
    ),
  ])
  await session.note({ type: 'pin', position: 1 })
  await session.note({
    type: 'receipt',
    len: 8,
    contextDigest: '0'.repeat(64),
    model: 'claude-opus-4-5',
    usage: { input: 12_000, output: 300, cacheRead: 9000 },
  })
  await session.append([user('Forget that.'), assistant('Forgotten.')])
  await session.rewind(9)
  await session.append(user('And the year 2100?'))
  await session.close()
  const fork = await forkSession(store, 'everything', { at: 8, id: 'a-fork' })
  await fork.append([user('Another way, please.'), assistant('With a table, then.')])
  await fork.close()
}
