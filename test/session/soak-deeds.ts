/**
 * What a writer of the soak does, again and again: appends with operation names, imports of one id beside others, forks,
 * removals, and each last deed again. It says what was acknowledged as soon as it was, so that it can be killed at any
 * moment: `NUMBER KIND ID`.
 */
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { faultMessage, forkSession, openSession, user, type Fault, type Store } from '../../src/index.ts'
import { importTranscript, readTranscript } from '@indelible/transcripts'

export const shared = 's'

export const bodyOf = (writer: string, number: number): string =>
  `${writer}:${number}:${number % 5 === 0 ? 'long '.repeat(1000) : ''}`

/** The id of an import that every writer tries, so that they meet. */
export const importId = (number: number): string => `import ${Math.floor(number / 10)}`
export const importedTexts = (id: string): readonly string[] =>
  Array.from({ length: 30 }, (_, index) => `${id} / ${index}`)
const transcriptOf = (id: string) => {
  const read = readTranscript(JSON.stringify(importedTexts(id).map((content) => ({ role: 'user', content }))))
  if (isLeft(read)) throw new Error('the transcript is good')
  return read.right
}

/** Kinds by number: what number `n` of a writer is. */
export const kindOf = (number: number): 'append' | 'import' | 'fork' | 'remove' =>
  (['append', 'append', 'import', 'fork', 'append', 'remove', 'append'] as const)[number % 7] ?? 'append'

export const forkId = (writer: string, number: number): string => `fork ${writer} ${number}`

/** Whether a deed of the kind `remove` takes away what was forked two deeds before it. Of two forks one stays. */
export const removes = (number: number): boolean => kindOf(number) === 'remove' && number % 2 === 1

/** Whether to do it again: the store is away for now, or another was quicker. */
const passing: ReadonlySet<string> = new Set(['Io', 'Busy', 'SessionConflict', 'Conflict', 'SessionGap'])

/** From deed `from` on, without an end; `going` ends it. */
export const work = async (
  store: Store,
  writer: string,
  from: number,
  say: (line: string) => void,
  going: () => boolean = () => true,
): Promise<void> => {
  for (let number = from; going();) {
    const answer = await deed(store, writer, number)
    if (!isLeft(answer)) {
      say(`${number} ${kindOf(number)}`)
      number += 1
    } else if (!passing.has(answer.left._tag))
      throw new Error(`${number} ${kindOf(number)}: ${answer.left._tag}: ${faultMessage(answer.left)}`)
    else if (answer.left._tag === 'Io') await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const done: Either<Fault, unknown> = { _tag: 'Right', right: undefined }

/** It may have been done before: then it is done. */
const deed = async (store: Store, writer: string, number: number): Promise<Either<Fault, unknown>> => {
  switch (kindOf(number)) {
    case 'append': {
      const session = await openSession(store, shared)()
      if (isLeft(session)) return session
      const answer = await session.right.append(user(bodyOf(writer, number)), { operation: `${writer} ${number}` })()
      await session.right.close()()
      return answer
    }
    case 'import': {
      const id = importId(number)
      const answer = await importTranscript(store, transcriptOf(id), { id })()
      return isLeft(answer) && answer.left._tag === 'LogExists' ? done : answer
    }
    case 'fork': {
      const answer = await forkSession(store, shared, { id: forkId(writer, number) })()
      return isLeft(answer) && answer.left._tag === 'LogExists' ? done : answer
    }
    case 'remove': {
      if (!removes(number)) return done
      const answer = await store.remove(forkId(writer, number - 2))()
      return isLeft(answer) && answer.left._tag === 'NoSuchLog' ? done : answer
    }
  }
}
