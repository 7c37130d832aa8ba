/** Why a model's client threw, in words: provider clients keep the address and the cause of a lost connection in `cause`. */
import { reasonOf } from '../task/index.ts'

/**
 * The message of an error, followed by those of its causes: `Connection error: fetch failed: connect ECONNREFUSED
 * 127.0.0.1:80`. Never throws.
 */
export const failureReason = (error: unknown): string => {
  const reasons: string[] = []
  let next: unknown = error
  for (let depth = 0; depth < maxDepth && next !== undefined && next !== null; depth++) {
    const reason = messageOf(next).replace(/\.$/, '')
    if (reason !== '' && !reasons.some((known) => known.includes(reason))) reasons.push(reason)
    next = fieldOf(next, 'cause')
  }
  return reasons.length <= 1 ? reasonOf(error) : reasons.join(': ')
}

const maxDepth = 6

const messageOf = (error: unknown): string => {
  const several = fieldOf(error, 'errors') // of an AggregateError: one for each address that was tried
  if (Array.isArray(several) && several.length > 0) return [...new Set(several.slice(0, 4).map(reasonOf))].join('; ')
  const reason = reasonOf(error)
  const [address, port] = ['remoteAddress', 'remotePort'].map((name) => fieldOf(fieldOf(error, 'socket'), name))
  return typeof address === 'string' && !reason.includes(address) ? `${reason} (${address}:${String(port)})` : reason
}

const fieldOf = (value: unknown, name: string): unknown => {
  try {
    return typeof value === 'object' && value !== null
      ? (value as { readonly [name: string]: unknown })[name]
      : undefined
  } catch {
    return undefined // a getter of a foreign error threw
  }
}
