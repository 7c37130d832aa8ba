/** The machines that a session of a shared store was sent from ("indelible keep --to"), as its metadata has them. */
import { isArray, isObject, type JsonObject } from 'indelible/internal/json'

/** Where a session was sent from. */
export interface Sent {
  readonly host: string
  readonly user: string
  /** The id of its source there, and the head that the source had: SIZE:ROOT. */
  readonly session: string
  readonly head: string
}

export const sentIn = ({ keptFrom }: JsonObject): readonly Sent[] =>
  isArray(keptFrom) ? (keptFrom as readonly unknown[]).filter(isSent) : []

const isSent = (value: unknown): value is Sent =>
  isObject(value) && ['host', 'user', 'session', 'head'].every((name) => typeof value[name] === 'string')

/** The same for two heads of one source. */
export const sentKey = ({ host, user, session }: Omit<Sent, 'head'>): string => JSON.stringify([host, user, session])

export const machineOf = ({ host, user }: Pick<Sent, 'host' | 'user'>): string => `${user}@${host}`

/** All machines of a session, once each: USER@HOST. */
export const machinesOf = (metadata: JsonObject): readonly string[] => [...new Set(sentIn(metadata).map(machineOf))]
