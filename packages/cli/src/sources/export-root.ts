/** Compares the rows of an export with the Merkle root that it ends with. */
import { faultMessage } from 'indelible'
import { isLeft } from 'indelible/internal/json'
import { memoryStore } from 'indelible/store'
import { importTranscript, type Transcript } from '@indelible/transcripts'

/** Whether the rows of an export have the root that it ends with. Undefined if it has none, or if rows can't be read. */
export const compareRoot = async (
  transcript: Transcript,
): Promise<{ readonly result: 'same' | 'differs' | 'not compared'; readonly text: string } | undefined> => {
  const { format, origin, damage } = transcript
  const root = origin.head?.root
  if (format !== 'indelible' || root === undefined || damage.length > 0) return undefined
  const imported = await importTranscript(memoryStore(), transcript, { id: 'check' })()
  if (!isLeft(imported))
    return imported.right.head.root === root
      ? { result: 'same', text: 'the rows have the root that the file states' }
      : { result: 'not compared', text: 'not compared: rows of the file have no time' }
  const { left: fault } = imported
  return fault._tag === 'OtherHead'
    ? {
        result: 'differs',
        text: `the rows have the root ${fault.found}, but the file states ${root}: the file was changed after it was exported`,
      }
    : {
        result: 'not compared',
        text:
          fault._tag === 'MissingBlock'
            ? 'not compared: the file names stored files that it does not contain; an import into a store that has them compares it'
            : `not compared: ${faultMessage(fault)}`,
      }
}
