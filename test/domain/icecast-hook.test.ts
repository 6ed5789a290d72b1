import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Hook, readHook } from '../../src/domain/icecast-hook.ts'

const hook = (more: Partial<Hook> = {}): Hook => ({
  action: 'add',
  metaid: 'abc',
  client: '5',
  mount: '/live',
  ...more,
})
const mount = (text: string) => `mount=${encodeURIComponent(text)}`

describe("Icecast's URL-auth hooks (rule 28)", () => {
  const table: Array<[name: string, body: string, expected: Hook | null]> = [
    ['add', `action=listener_add&client=5&${mount('/live?metaid=abc')}`, hook()],
    ['remove', `action=listener_remove&client=5&${mount('/live?metaid=abc')}`, hook({ action: 'remove' })],
    ['the old name of the parameter', `action=listener_add&client=5&${mount('/live?sabcsid=abc')}`, hook()],
    ['the new name first', `action=listener_add&client=5&${mount('/live?sabcsid=x&metaid=abc')}`, hook()],
    ['among other parameters', `action=listener_add&client=5&${mount('/live?a=1&metaid=abc&b')}`, hook()],
    ['escaped twice', `action=listener_add&client=5&${mount('/live?metaid=a%7Eb')}`, hook({ metaid: 'a~b' })],
    ['no client', `action=listener_add&${mount('/live?metaid=abc')}`, hook({ client: null })],
    [
      'a mount with umlauts',
      `action=listener_add&client=5&${mount('/hörfunk?metaid=abc')}`,
      hook({ mount: '/hörfunk' }),
    ],
    ['no metaid', `action=listener_add&client=5&${mount('/live')}`, null],
    ['an empty metaid', `action=listener_add&client=5&${mount('/live?metaid=')}`, null],
    ['what can be no metaid', `action=listener_add&client=5&${mount('/live?metaid=a/b')}`, null],
    ['another action', `action=mount_add&client=5&${mount('/live?metaid=abc')}`, null],
    ['no action', mount('/live?metaid=abc'), null],
    ['nothing', '', null],
    ['too many parameters', 'a=1&'.repeat(257), null],
    ['no form', '\x00\xff{"action":"listener_add"}', null],
  ]
  for (const [name, body, expected] of table) {
    test(name, () => assert.deepEqual(readHook(Buffer.from(body, 'latin1')), expected))
  }
  test('a metaid of 128 characters, and one more', () => {
    const of = (length: number) =>
      readHook(Buffer.from(`action=listener_add&${mount(`/live?metaid=${'m'.repeat(length)}`)}`))
    assert.equal(of(128)?.metaid.length, 128)
    assert.equal(of(129), null)
  })
})
