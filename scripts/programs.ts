/** Bundle what the tests start as processes and threads: see test/programs.ts. */
import { basename, join } from 'node:path'
import { bundles, programs } from '../test/programs.ts'
import { bundle } from './bundle.ts'
import { root } from './run.ts'

const library = join(root, 'src/')

// A process that loads a few large files starts in two thirds of the time that many small ones take.
await bundle({
  programs: Object.fromEntries(programs.map((path) => [basename(path, '.ts'), path])),
  folder: bundles,
  packages: [/^(openai|@anthropic-ai\/sdk|pg)(\/|$)/],
  groups: [
    { name: 'records', test: /packages\/records\/src/ }, // or it would be in one of two programs, which the other would run
    { name: 'clients', test: /node_modules\/(openai|@anthropic-ai)\// },
    { name: 'pg', test: /node_modules\/pg/ },
    { name: 'sources', test: (id) => id.startsWith(library) },
  ],
})
