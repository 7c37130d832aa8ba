/** `indelible repair`: the bookkeeping of a store, rebuilt from what was recorded. */
import { findingText } from '../store/index.ts'
import { Misuse, Unreadable, type Command } from './command.ts'
import { answer, storeHelp, storeOption, withStore } from './place.ts'
import { counted } from './screen.ts'

export const repair: Command = {
  name: 'repair',
  synopsis: 'repair',
  purpose: 'rebuild what a damaged store can prove',
  help: `Usage: indelible repair [options]

Checks a whole store as "indelible verify --all --deep" does, and rebuilds what
the rest of it proves: indexes, counts, marks, heads, what is kept beside rows.
Each finding is printed with what was done. No row and no attachment that was
recorded is changed or removed. Back the store up first. Exit code 1 if
something is left that can't be rebuilt.

Options:
${storeHelp}
  -h, --help     print this help
`,
  options: { ...storeOption },
  run: async (call) => {
    if (call.positionals.length > 0)
      throw new Misuse(`repair takes no arguments, but got ${call.positionals.join(', ')}`)
    await withStore(call, {}, async (store) => {
      const repairs = await answer(store.repair())
      await call.terminal.print(repairs.map((each) => `${findingText(each)}: ${each.done ?? 'not repaired'}`))
      const left = repairs.filter(({ done }) => done === undefined).length
      await call.terminal.print([`${counted(repairs.length, 'finding')}, ${repairs.length - left} repaired`])
      if (left > 0)
        throw new Unreadable(`${counted(left, 'finding')} can't be repaired: restore the store from a backup`)
    })
  },
}
