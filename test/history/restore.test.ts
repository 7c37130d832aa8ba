import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { createHistory, decodeMessage, faultMessage, restoreHistory, user, type Message } from 'indelible'
import { type HistoryFault } from 'indelible/history'
import { conversation, everyPart } from '../messages.ts'

const restored = (saved: { readonly messages: unknown; readonly pages?: unknown }) => {
  const answer = restoreHistory<Message>(saved, decodeMessage)
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}

const faultOf = (saved: unknown): HistoryFault => {
  const answer = restoreHistory<Message>(saved as { messages: unknown }, decodeMessage)
  if (!isLeft(answer)) throw new Error('expected a fault')
  return answer.left
}

/** A history whose every entry has a tag that classification would not give. */
const tagged = () => {
  const history = createHistory<Message>()
  for (const message of [...conversation(), everyPart]) history.append(message, 'constraint')
  return history
}

describe('restoreHistory', () => {
  it('restores saved messages and tags through JSON text', () => {
    const view = tagged().view()
    const { history, classifiedFrom } = restored(JSON.parse(JSON.stringify({ messages: view, pages: view.pages })))
    expect(history.view().toArray()).toEqual(view.toArray())
    expect(history.view().pages.toArray()).toEqual(view.pages.toArray())
    expect(classifiedFrom).toBe(7)
  })
  it('classifies only the missing tail of a short sidecar', () => {
    const view = tagged().view()
    const { history, classifiedFrom } = restored({ messages: view.toArray(), pages: view.pages.toArray().slice(0, 3) })
    expect(history.view().pages.toArray()).toEqual([
      'constraint',
      'constraint',
      'constraint',
      'evidence',
      'evidence',
      'conversation',
      'evidence',
    ])
    expect(classifiedFrom).toBe(3)
  })
  it('classifies all messages without a sidecar', () => {
    const { history, classifiedFrom } = restored({ messages: conversation() })
    expect(history.view().pages.toArray()).toEqual([
      'bootstrap',
      'conversation',
      'conversation',
      'evidence',
      'evidence',
      'conversation',
    ])
    expect(classifiedFrom).toBe(0)
  })
  it('uses the given classify for missing tags and later appends', () => {
    const answer = restoreHistory({ messages: conversation(), pages: ['plan'] }, decodeMessage, {
      classify: () => 'preference',
    })
    if (isLeft(answer)) throw new Error(faultMessage(answer.left))
    const { history } = answer.right
    history.append(user('x'))
    expect(history.view().pages.count('preference')).toBe(6)
    expect(history.view().pages.at(0)).toBe('plan')
  })
  it('returns a history that can be appended to', () => {
    const { history } = restored({ messages: conversation() })
    expect(history.append(user('more'))).toBe(6)
  })
  it('works with any message type and decoder', () => {
    const decodeNumber = (value: unknown) => (typeof value === 'number' ? right(value) : left('not a number'))
    const good = restoreHistory({ messages: [1, 2] }, decodeNumber)
    if (isLeft(good)) throw new Error('unexpected')
    expect(good.right.history.view().toArray()).toEqual([1, 2])
    const bad = restoreHistory({ messages: [1, 'two'] }, decodeNumber)
    expect(bad).toEqual(left({ _tag: 'UndecodableMessage', position: 1, cause: 'not a number' }))
    expect(isLeft(bad) && faultMessage(bad.left)).toMatch(/position 1 could not be decoded: not a number/)
    const object = restoreHistory({ messages: ['two'] }, () => left({ wanted: 'a number' }))
    expect(isLeft(object) && faultMessage(object.left)).toContain('could not be decoded: {"wanted":"a number"};')
  })

  it('refuses a sidecar that is too long and reports the first extra position', () => {
    const fault = faultOf({ messages: [user('a')], pages: ['plan', 'plan', 'plan'] })
    expect(fault).toEqual({ _tag: 'TooManyPages', position: 1, messages: 1, pages: 3 })
    expect(faultMessage(fault)).toMatch(/3 page kinds for 1 messages, so position 1 has a page kind and no message/)
  })
  it.each([
    ['gossip', '"gossip"'],
    [1, '1 at'],
    [null, 'null'],
    [undefined, 'nothing'],
    [{}, 'object'],
  ])('refuses %j as a page kind and reports its position', (kind, found) => {
    const fault = faultOf({ messages: [user('a'), user('b')], pages: ['plan', kind] })
    expect(fault).toMatchObject({ _tag: 'UnknownPage', position: 1 })
    expect(faultMessage(fault)).toMatch(found)
  })
  it('refuses a message that does not decode and reports its position and path', () => {
    const fault = faultOf({ messages: [user('a'), { role: 'user', content: 'text' }] })
    expect(fault).toMatchObject({ _tag: 'UndecodableMessage', position: 1 })
    expect(faultMessage(fault)).toMatch(
      /position 1 could not be decoded: content should be an array of parts, found "text"/,
    )
  })
  it('refuses a decoded value that cannot be recorded', () => {
    const answer = restoreHistory({ messages: [new Date(0)] }, right)
    expect(answer).toMatchObject(left({ _tag: 'UnrecordableMessage', position: 0, path: [] }))
  })
  it.each<readonly [unknown, string]>([
    [null, 'saved should be an object'],
    [[], 'saved.messages should be an array'],
    [{}, 'saved.messages should be an array'],
    [{ messages: {} }, 'saved.messages should be an array'],
    [{ messages: [], pages: 'plan' }, 'saved.pages should be an array'],
    [{ messages: [], pages: null }, 'saved.pages should be an array'],
  ])('refuses %j', (saved, message) => expect(faultMessage(faultOf(saved))).toMatch(message))
})
