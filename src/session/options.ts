/** The names of the options that a session's methods take. */
import { optionsOf } from '../json/index.ts'
import type { LeaseOptions } from './lease.ts'
import type { AppendOptions, NoteOptions, RetractOptions } from './session.ts'

const retract = { operation: true, expectedHead: true, respectLease: true } as const
const note = { ...retract, expectedLen: true } as const

type Methods = 'append' | 'rebase' | 'note' | 'pop' | 'rewind' | 'clear' | 'replaceTail' | 'lease'

/** What each method does with its options first: give them back, or throw a TypeError that names the unknown one. */
export const known: { readonly [Method in Methods]: <T>(options: T) => T } = {
  append: optionsOf<AppendOptions>('session.append', { ...note, page: true }),
  rebase: optionsOf<Omit<AppendOptions, 'expectedLen' | 'expectedHead'>>('session.rebase', {
    page: true,
    operation: true,
    respectLease: true,
  }),
  note: optionsOf<NoteOptions>('session.note', note),
  pop: optionsOf<RetractOptions>('session.pop', retract),
  rewind: optionsOf<RetractOptions>('session.rewind', retract),
  clear: optionsOf<RetractOptions>('session.clear', retract),
  replaceTail: optionsOf<RetractOptions & Pick<AppendOptions, 'page'>>('session.replaceTail', {
    ...retract,
    page: true,
  }),
  lease: optionsOf<LeaseOptions>('session.lease', { holder: true, ttl: true, wait: true }),
}
