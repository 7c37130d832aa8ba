/** The user's home folder. */
import { homedir, userInfo } from 'node:os'
import type { Terminal } from '../terminal/command.ts'

/**
 * The home folder that HOME names. An empty HOME names none: what it would make relative to the current folder is in the
 * folder of the user's account.
 */
export const homeOf = (env: Terminal['env'], byProcess: string = homedir()): string =>
  env['HOME'] || byProcess || userInfo().homedir
