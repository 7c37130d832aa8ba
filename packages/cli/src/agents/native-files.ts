/** The folders in which programs keep their sessions, the commands that resume one, and how to write one. */
import { accessSync, constants, existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { isObject } from 'indelible/internal/json'
import type { Native, NativeProgram } from '@indelible/transcripts'
import { folderOf, isByProject, projectRoot, settingIn, settingsIn } from '../sources/agent-sessions.ts'
import { homeOf } from '../sources/home.ts'
import { Unreadable, type Terminal } from '../terminal/command.ts'
import { programOutput } from '../terminal/program.ts'
import { unwritable } from '../sources/input.ts'
import { writeOut } from '../sources/write-out.ts'
import type { NativeOptions } from '@indelible/transcripts/internal'

type Env = Terminal['env']

/** A program's command, and how it resumes a session. */
interface ResumeCommand {
  readonly command: string
  readonly resume: (id: string) => readonly string[]
  /** The environment variable for the folder of its sessions. */
  readonly variable: string
  /** The tokens of a conversation that leave room for instructions, tools and answers in its usual model's window. */
  readonly budget: number
}

export const resumeCommands: { readonly [Program in NativeProgram]: ResumeCommand } = {
  'claude-code': {
    command: 'claude',
    resume: (id) => ['--resume', id],
    variable: 'CLAUDE_CONFIG_DIR',
    budget: 150_000,
  },
  codex: { command: 'codex', resume: (id) => ['resume', id], variable: 'CODEX_HOME', budget: 200_000 },
  gemini: { command: 'gemini', resume: (id) => ['-r', id], variable: 'GEMINI_CLI_HOME', budget: 800_000 },
  opencode: { command: 'opencode', resume: (id) => ['-s', id], variable: 'XDG_DATA_HOME', budget: 150_000 },
  pi: { command: 'pi', resume: (id) => ['--session', id], variable: 'PI_CODING_AGENT_DIR', budget: 150_000 },
}

const isInstalled = (program: NativeProgram, env: Env): boolean =>
  (env['PATH'] ?? '').split(delimiter).some((folder) => isProgram(join(folder, resumeCommands[program].command)))

/** Throws Unreadable if the program is not installed. */
export const checkInstalled = (program: NativeProgram, env: Env): void => {
  const { command } = resumeCommands[program]
  if (!isInstalled(program, env))
    throw new Unreadable(`${program}: found no program "${command}" in PATH; nothing was written`, 127)
}

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** Throws Unreadable if the program's folder is missing, unless the program is installed and never ran: then it is created. */
export const checkHome = (program: NativeProgram, env: Env): void => {
  if (program === 'opencode') return // its own command writes there
  const folder = program === 'pi' && isByProject(env) ? dirname(folderOf(program, env)) : folderOf(program, env)
  const isElsewhere = [resumeCommands[program].variable, 'PI_CODING_AGENT_SESSION_DIR'].some((name) => env[name])
  if (!existsSync(folder) && (isElsewhere || !isInstalled(program, env)))
    throw new Unreadable(
      `${program} has no folder ${folder}; start it once, or set ${resumeCommands[program].variable}; nothing was written`,
    )
}

/** The settings from a program's files that its writer needs. Throws Unreadable. */
export const settingsOf = (
  program: NativeProgram,
  cwd: string,
  model: unknown,
  env: Env,
): Pick<NativeOptions, 'model' | 'project'> => {
  if (program === 'gemini') {
    const project = projectOf(cwd, folderOf('gemini', env))
    return project === undefined ? {} : { project }
  }
  if (program !== 'opencode') return {}
  const config = join(env['XDG_CONFIG_HOME'] || join(homeOf(env), '.config'), 'opencode', 'opencode.json')
  const named =
    typeof model === 'string'
      ? model
      : (settingIn(join(cwd, 'opencode.json'), 'model') ?? settingIn(config, 'model') ?? lastModel(env))
  const [, provider = '', name = ''] = /^([^/]+)\/(.+)$/.exec(named ?? '') ?? []
  if (provider === '')
    throw new Unreadable(
      `opencode: ${named === undefined ? 'no model is configured' : `"${named}" is no model`}; --model PROVIDER/MODEL names one of "opencode models"; nothing was written`,
    )
  return { model: { provider, model: name } }
}

/** The model that opencode's user last chose. Source: opencode 1.18.33, `model.json` of its state folder */
const lastModel = (env: Env): string | undefined => {
  const state = env['XDG_STATE_HOME'] || join(homeOf(env), '.local', 'state')
  const recent = settingsIn(join(state, 'opencode', 'model.json'))['recent']
  const first: unknown = Array.isArray(recent) ? recent[0] : undefined
  return isObject(first) ? `${String(first['providerID'])}/${String(first['modelID'])}` : undefined
}

/**
 * Gemini CLI's folder for a project: the one whose marker file names it, or the one in its registry.
 *
 * Source  Gemini CLI 0.61.0, projectRegistry.ts
 */
const projectOf = (cwd: string, folder: string): string | undefined => {
  const names = existsSync(join(folder, 'tmp')) ? readdirSync(join(folder, 'tmp')) : []
  const owned = names.find((name) => projectRoot(join(folder, 'tmp', name)) === cwd)
  const projects = settingsIn(join(folder, 'projects.json'))['projects']
  const registered = isObject(projects) && Object.hasOwn(projects, cwd) ? projects[cwd] : undefined
  const name = owned ?? registered
  return typeof name === 'string' && /^\w[\w.-]{0,254}$/.test(name) ? name : undefined
}

/** Put a session where its program looks for it, and return the path. If it throws Unreadable, nothing was written. */
export const putNative = async (native: Native, cwd: string, terminal: Terminal): Promise<string> => {
  const { program, place, lines } = native
  if (program === 'opencode') return importWithOpencode(native, cwd, terminal)
  const folder = folderOf(program, terminal.env)
  const steps = program !== 'pi' ? place : isByProject(terminal.env) ? place.slice(1) : place.slice(-1)
  const path = join(folder, ...steps)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unwritable(dirname(path), error)
  })
  await writeOut(path, lines, { input: '-', force: false, terminal, mode: 0o600 })
  if (program === 'gemini') await claim(dirname(dirname(path)), cwd, path)
  return path
}

/** Mark a new Gemini CLI folder with its project. */
const claim = async (folder: string, cwd: string, session: string): Promise<void> => {
  const path = join(folder, '.project_root')
  try {
    if (projectRoot(folder) === undefined) await writeFile(path, cwd, { flag: 'wx' })
  } catch (error) {
    rmSync(session, { force: true })
    throw unwritable(path, error)
  }
}

const importWithOpencode = async ({ id, place, lines }: Native, cwd: string, terminal: Terminal): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'indelible-'))
  const path = join(folder, basename(place.join('/')))
  try {
    await writeOut(path, lines, { input: '-', force: false, terminal, mode: 0o600 })
    const output = await programOutput('opencode', ['import', path], terminal.env, cwd)
    if (!output.includes(id)) throw new Unreadable(`opencode did not import the session: ${output.trim().slice(-500)}`)
    return 'the database of opencode'
  } finally {
    await rm(folder, { recursive: true })
  }
}
