/** The command, run by a Node that is too old for it. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { main } from './indelible.ts'

describe('a Node that is too old', () => {
  it.each(['20.20.2', '22.14.0'])('is told which one is needed: %s', (version) => {
    const faked = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', faked, main, '--version'], {
      encoding: 'utf8',
    })
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: `indelible: needs Node 22.15 or later, and this is ${version}\n`,
    })
  })
})
