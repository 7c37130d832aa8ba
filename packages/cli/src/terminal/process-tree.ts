/** Ends a program together with the programs that it has started. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { platform } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'

/** The milliseconds until a process that does not end is killed, then given up; and those between looks. */
const [killMs, lookMs] = [2000, 50]

/**
 * End a process and all that descend from it: with SIGTERM, and with SIGKILL if that does not help. A shell dies of a
 * SIGTERM without the program that it has started, and only a shell's job has a process group of its own.
 */
export const endTree = async (pid: number): Promise<void> => {
  let left = treeOf([pid], runningProcesses())
  for (const pid of left) send(pid, 'SIGTERM')
  const from = performance.now()
  while (left.length > 0 && performance.now() - from < 2 * killMs) {
    await wait(lookMs)
    const running = runningProcesses()
    left = left.filter((pid) => running.has(pid)) // an id that was free once may be another process
    if (performance.now() - from < killMs) continue
    // What did not end may have started others since.
    left = treeOf(left, running)
    for (const pid of left) send(pid, 'SIGKILL')
  }
}

/** Processes and their descendants. */
const treeOf = (pids: readonly number[], running: ReadonlyMap<number, number>): readonly number[] => {
  const tree = new Set(pids)
  for (const parent of tree) for (const [pid, its] of running) if (its === parent) tree.add(pid)
  return [...tree]
}

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {} // it has ended
}

/** The parents of the processes that run, by id; none if the system does not say. */
const runningProcesses = (): ReadonlyMap<number, number> => {
  try {
    return new Map(platform() === 'linux' ? linuxProcesses() : listedProcesses())
  } catch {
    return new Map()
  }
}

/** Small systems have no `ps`. */
const linuxProcesses = (): readonly (readonly [number, number])[] =>
  readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      // The name of the program, in parentheses, may have any character.
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return state === 'Z' || state === 'X' ? [] : [[Number(name), Number(parent)] as const]
    } catch {
      return [] // it has ended
    }
  })

const listedProcesses = (): readonly (readonly [number, number])[] => {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n')
  return lines.flatMap((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/)
    return state.startsWith('Z') ? [] : [[Number(pid), Number(parent)] as const]
  })
}
