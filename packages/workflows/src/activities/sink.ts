/** Publishes events to a sink that may fail or hang. */
import type { EventSink, StreamEvent } from './event.ts'

/** The sink did not accept an event in time. */
export class SinkTimeout extends Error {}

/**
 * Publish an event, and wait at most `within` milliseconds for the sink, or until the signal aborts.
 *
 * Throws  the sink's error, `SinkTimeout`, or the reason of the signal
 */
export const publish = async (
  sink: EventSink | undefined,
  event: StreamEvent,
  within = 30_000,
  signal?: AbortSignal,
): Promise<void> => {
  const answer = sink?.publish(Object.freeze(event))
  if (answer === undefined) return
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => settle(() => reject(new SinkTimeout(`the sink has not answered within ${within} ms`))),
      within,
    )
    const onAbort = (): void => settle(() => reject(signal?.reason as Error))
    const settle = (end: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      end()
    }
    if (signal?.aborted === true) onAbort()
    else signal?.addEventListener('abort', onAbort)
    Promise.resolve(answer).then(
      () => settle(resolve),
      (error: unknown) => settle(() => reject(error as Error)),
    )
  })
}
