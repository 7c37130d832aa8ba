/** Bundle what the tests start as processes and threads: see test/programs.ts. */
import { basename } from 'node:path'
import { bundles, programs } from '../test/programs.ts'
import { bundle } from './bundle.ts'

await bundle({
  programs: Object.fromEntries(programs.map((path) => [basename(path, '.ts'), path])),
  folder: bundles,
  groups: [{ name: 'records', test: /packages\/records\/src/ }], // or it would be in one of two programs, which the other would run
})
