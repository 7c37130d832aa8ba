/** Whether Claude Code has the plugin of this package, which has the server and the hooks of `keep`. */
import { join } from 'node:path'
import { isObject } from 'indelible/internal/json'
import { folderOf, settingsIn } from '../sources/agent-sessions.ts'
import type { Terminal } from '../terminal/command.ts'

export const hasClaudePlugin = (env: Terminal['env']): boolean => {
  const plugins = settingsIn(join(folderOf('claude-code', env), 'settings.json'))['enabledPlugins']
  return (
    isObject(plugins) && Object.entries(plugins).some(([name, isOn]) => name.startsWith('indelible@') && isOn === true)
  )
}
