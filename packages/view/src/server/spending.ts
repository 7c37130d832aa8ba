/** What the calls of all sessions cost: the sums that `indelible spend` prints. */
import { present } from 'indelible/internal/json'
import type { Store } from 'indelible/store'
import { Spending, spendingAdvice } from '../calls/spending.ts'
import { addStore } from '../calls/store-spending.ts'
import type { ViewedSpending, ViewedSpentCall } from '../protocol.ts'
import { titleOf } from '../texts/about.ts'
import { callClause } from '../texts/cause-text.ts'

/** The costs of a store, added up anew for each call; calls at the same time share one. Nothing is written. */
export const spendingOf = (store: Store): (() => Promise<ViewedSpending>) => {
  let running: Promise<ViewedSpending> | undefined
  return () =>
    (running ??= addUp(store).finally(() => {
      running = undefined
    }))
}

const addUp = async (store: Store): Promise<ViewedSpending> => {
  const spending = new Spending()
  const { sessions, unread } = await addStore(spending, store, { keep: false })
  const dearest = (await spending.dearest()).map(({ session, call }): ViewedSpentCall => {
    const { number, dollars = 0, position } = call
    const info = sessions.get(session)
    return present({ session, number, dollars, position, why: callClause(call), title: info && titleOf(info) })
  })
  return {
    ...{ total: spending.total, lost: spending.lost, dearest, unpricedModels: spending.unpricedModels },
    sessions: spending.rows(['session']).length,
    unread: unread.size,
    causes: spending.rows(['cause']),
    days: spending.rows(['day', 'cause']),
    projects: spending.rows(['project']),
    programs: spending.rows(['program']),
    models: spending.rows(['model']),
    advice: spendingAdvice(spending),
  }
}
