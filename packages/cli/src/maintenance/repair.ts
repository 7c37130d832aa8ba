/** `indelible repair`: rebuilds the bookkeeping of a store from its rows. */
import { findingText } from 'indelible/internal/store'
import { Unreadable, type Command } from '../terminal/command.ts'
import { valueOrUnreadable, wholeStoreOption, withStore } from '../sources/place.ts'
import { countText } from '../terminal/screen.ts'

export const repair: Command = {
  name: 'repair',
  synopsis: 'repair',
  purpose: 'rebuild the damaged parts of a store',
  usage: ['repair [options]'],
  about: `Checks a whole store like "indelible verify --all --deep", and rebuilds the
parts that follow from the rows: indexes, counts, marks, heads, tree nodes, until
nothing is left to rebuild. Each finding is printed with the action taken. No recorded row or attachment is
changed or removed. Back the store up first. Exit code 1 if some damage can't be
repaired.`,
  options: {
    ...wholeStoreOption,
  },
  run: async (call) => {
    await withStore(call, {}, async (store) => {
      const repairs = await call.terminal.waiting('checking the store', () => valueOrUnreadable(store.repair()))
      await call.terminal.print(repairs.map((each) => `${findingText(each)}: ${each.done ?? 'not repaired'}`))
      const left = repairs.filter(({ done }) => done === undefined).length
      await call.terminal.print([`${countText(repairs.length, 'finding')}, ${repairs.length - left} repaired`])
      if (left > 0)
        throw new Unreadable(`${countText(left, 'finding')} can't be repaired: restore the store from a backup`)
    })
  },
}
