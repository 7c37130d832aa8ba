/** Who vouches for a session, as the page shows it: the ledger, its checkpoint, and the keys that count. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { assistant, createSession, openSession, orThrow, user, type Store } from 'indelible'
import { newKey, signerOf, signLedger, updateLedger, witnessLedger, type Trust } from '@indelible/evidence'
import { htmlOf, startView, type View } from '@indelible/view'
import { startWitness, type LoopbackWitness } from '../../../evidence/test/loopback-witness.ts'
import { watchErrors, looking, type Looking } from './browser.ts'

const key = newKey('example.com/agents')
const origin = 'example.com/agents/default'

let here: Looking
let witness: LoopbackWitness
const sign = async (store: Store): Promise<void> => {
  await updateLedger(store)
  await signLedger(store, { origin, signers: [orThrow(signerOf(key.skey))] })
  await witnessLedger(store, [witness])
}
const complaints: string[] = []
beforeAll(async () => {
  witness = await startWitness('witness.example', { [origin]: key.vkey })
  here = await looking(async (store) => {
    for (const id of ['signed', 'cut']) {
      const session = await createSession(store, { id, erasable: true })
      await session.append([user('what is signed?'), assistant('this'), user('and this?')])
      await session.close()
    }
    await sign(store)
    await createSession(store, { id: 'unsigned', messages: [user('too late')] })
    const grown = await openSession(store, 'signed')
    await grown.append(assistant('not that'))
    await grown.close()
    await store.remove('cut')
    await createSession(store, { id: 'cut', messages: [user('something else'), user('2'), user('3')] })
  })
})
afterAll(async () => {
  await here?.end()
  await witness?.close()
})
afterEach(() => expect([...complaints.splice(0), ...here.complaints()]).toEqual([]))

const proof = async (page: Page): Promise<string> => (await page.locator('.signed').textContent()) ?? ''
const give = async (page: Page, keys: string): Promise<void> =>
  page.getByRole('textbox', { name: 'Keys that you trust' }).fill(keys)
const trusting = async (trust: Trust, look: (page: Page, view: View) => Promise<void>): Promise<void> => {
  const view = await startView({ store: here.store, name: 'trusting', version: '0.0.0', trust })
  const page = watchErrors(await here.browser.newPage(), complaints)
  await page.goto(view.open('s/signed'))
  await look(page, view)
  await page.close()
  await view.close()
}

describe('a session in a signed ledger', () => {
  it('shows its checkpoint and signatures, verified once keys are given', async () => {
    const page = await here.at('#/s/signed')
    await page.locator('.verified.good').click()
    await page.getByRole('heading', { name: 'Signed, not verified' }).waitFor()
    expect(await proof(page)).toMatch(/example\.com\/agents\/default, 2 rows of the ledger/)
    expect(await proof(page)).toMatch(/example\.com\/agents [\da-f]{8} not verified: its key was not given/)
    expect(await proof(page)).toContain('the 1 row after them: appended since this checkpoint')
    expect(await proof(page)).toContain('who made 2 signatures without a key here')
    await give(page, key.vkey)
    await page.getByRole('heading', { name: 'Signed', exact: true }).waitFor()
    expect(await proof(page)).toMatch(/example\.com\/agents [\da-f]{8} verified/)
    expect(await proof(page)).toContain('who made the signature without a key here')
    expect(await proof(page)).toContain('no witness that you trust has signed')
    await give(page, `${key.vkey}\n${witness.vkey}`)
    await page.getByText('witness, verified, signed').waitFor()
    expect(await proof(page)).not.toContain('no witness that you trust')
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Verified, signed' }).waitFor()
    await page.close()
  })
  it('is not signed for other keys of the name, another origin, or more witnesses', async () => {
    const page = await here.at('#/s/signed')
    await page.locator('.verified.good').click()
    await give(page, newKey('example.com/agents').vkey)
    await page.getByRole('heading', { name: 'Not signed by a trusted key' }).waitFor()
    await give(page, JSON.stringify({ origin: 'example.com/other', keys: [key.vkey] }))
    await page.getByText('its origin is "example.com/agents/default"').waitFor()
    await give(
      page,
      JSON.stringify({
        origin,
        keys: [key.vkey],
        witnesses: [witness.vkey, newKey('other.example', 'witness').vkey],
        quorum: 2,
      }),
    )
    await page.getByText('2 witnesses must have signed').waitFor()
    await give(page, 'nonsense')
    await page.getByText('the text is not a key').waitFor()
    await page.close()
  })
  it("is verified at once with the server's keys", async () => {
    await trusting({ origin, keys: [key.vkey], witnesses: [witness.vkey], quorum: 1 }, async (page) => {
      await page.getByRole('button', { name: 'Verified, signed' }).click()
      expect(await proof(page)).toContain('witness, verified')
      expect(await proof(page)).not.toContain('the origin, and how many witnesses')
    })
    await trusting({ origin, keys: [newKey('example.com/agents').vkey] }, async (page) => {
      await page.getByText('Verified', { exact: true }).click()
      await page.getByRole('heading', { name: 'Not signed by a trusted key' }).waitFor()
    })
  })
  it('that was replaced is reported as not the signed one', async () => {
    const page = await here.at('#/s/cut')
    await page.getByRole('button', { name: 'Not as signed' }).click()
    await page.getByText('The ledger has another head for the first 3 rows').waitFor()
    await page.close()
  })
  it('created after the checkpoint is reported as such', async () => {
    const page = await here.at('#/s/unsigned')
    await page.locator('.verified.good').click()
    await page.getByRole('heading', { name: 'Not signed' }).waitFor()
    expect(await proof(page)).toContain('The last signed checkpoint covers no row of session "unsigned"')
    await page.close()
  })
  it('has its proof in an exported file, without keys', async () => {
    const openFile = async (id: string, store = here.store): Promise<Page> => {
      const path = join(here.folder, `${id}.html`)
      const lines = await htmlOf(store, id, { version: '0.0.0', ...(id === 'signed' && { from: 1, to: 2 }) })
      writeFileSync(path, lines.join('\n'))
      const page = watchErrors(await (await here.browser.newContext({ offline: true })).newPage(), complaints)
      await page.goto(pathToFileURL(path).href)
      await page.locator('.verified.good').click()
      return page
    }
    const page = await openFile('signed')
    await page.getByRole('heading', { name: 'Signed, not verified' }).waitFor()
    await give(page, key.vkey)
    await page.getByRole('heading', { name: 'Signed', exact: true }).waitFor()
    await page.context().close()
    const other = orThrow(here.store.scoped('without-ledger'))
    await createSession(other, { id: 'plain', messages: [user('nobody signed this')] })
    const plain = await openFile('plain', other)
    await plain.getByText('This file has no signature').waitFor()
    await plain.context().close()
  })
})
