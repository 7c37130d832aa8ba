/** The page in a real browser. Where there is none, one line says that this was left out. */
import { existsSync } from 'node:fs'
import { isBuilt, run } from './run.ts'

const places = [
  process.env['CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const browser = places.find((place) => place !== undefined && existsSync(place))
if (browser === undefined) {
  process.stdout.write('left out: the page in a browser (no Chromium is installed; CHROMIUM names one elsewhere)\n')
  process.exit(0)
}
process.env['CHROMIUM'] = browser
if (!isBuilt() && !run(process.execPath, ['scripts/build.ts'])) process.exit(1)
process.exit(
  run('vitest', ['run', '--config', 'packages/view/page/vitest.config.ts', ...process.argv.slice(2)]) ? 0 : 1,
)
