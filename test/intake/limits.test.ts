import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from '../../src/intake/bounded-map.ts'
import { readContentType } from '../../src/intake/content-type.ts'
import { PushRate } from '../../src/intake/push-rate.ts'
import { sourceOf, WrongTokens } from '../../src/intake/wrong-tokens.ts'
import { createMetrics } from '../../src/observe/metrics.ts'

const metrics = createMetrics()

test('a channel may push its burst at once, then at its rate (rule 12)', () => {
  const rate = new PushRate({ rate: 20, metrics })
  const charges = Array.from({ length: 60 }, () => rate.charge('a', 1000))
  assert.deepEqual(new Set(charges), new Set([0]))
  assert.equal(rate.charge('a', 1000), 1)
  assert.equal(rate.charge('b', 1000), 0, 'another channel is not affected')
  assert.equal(rate.charge('a', 1049), 1)
  assert.equal(rate.charge('a', 1050), 0)
  assert.equal(rate.charge('a', 1050), 1)
})

test('a refused push is not charged, and the wait is told in whole seconds', () => {
  const rate = new PushRate({ rate: 0.1, metrics })
  assert.equal(rate.charge('a', 0), 0, 'a burst below one still lets one pass')
  assert.equal(rate.charge('a', 0), 10)
  assert.equal(rate.charge('a', 9_500), 1)
  assert.equal(rate.charge('a', 10_000), 0)
})

test('the tenth wrong token within a minute counts, the eleventh is refused (rule 12)', () => {
  const wrong = new WrongTokens({ metrics })
  for (let n = 0; n < 10; n++) assert.equal(wrong.note('10.0.0.1', n * 1000), 0)
  assert.equal(wrong.note('10.0.0.1', 10_000), 50)
  assert.equal(wrong.note('10.0.0.2', 10_000), 0, 'another address is not affected')
  assert.equal(wrong.note('10.0.0.1', 59_999), 1)
  assert.equal(wrong.note('10.0.0.1', 60_000), 0)
  assert.equal(wrong.note('10.0.0.1', 60_000), 1)
})

test('an address stands for itself, or in IPv6 for its /64 network', () => {
  const cases: [address: string, source: string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:ffff::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['', ''],
  ]
  for (const [address, source] of cases) assert.equal(sourceOf(address), source, address)
})

test('a bounded map forgets the least recently set entry at its limit, not before', () => {
  const forgotten: string[] = []
  const map = new BoundedMap<string, number>(2, () => forgotten.push('one'))
  map.set('a', 1)
  map.set('b', 2)
  map.set('a', 3)
  assert.equal(forgotten.length, 0)
  map.set('c', 4)
  assert.equal(forgotten.length, 1)
  assert.deepEqual([map.get('a'), map.get('b'), map.get('c'), map.size], [3, undefined, 4, 2])
})

test('tables of rate limits are bounded, and forgetting is counted', async () => {
  const counted = createMetrics()
  const rate = new PushRate({ rate: 0.1, metrics: counted, maxChannels: 1 })
  rate.charge('a', 0)
  rate.charge('b', 0)
  assert.equal(rate.charge('a', 0), 0, 'forgotten: as if full')
  const wrong = new WrongTokens({ metrics: counted, maxSources: 1 })
  wrong.note('10.0.0.1', 0)
  wrong.note('10.0.0.2', 0)
  const text = await counted.registry.metrics()
  assert.match(text, /intake_forgotten_total\{table="push-rate"\} 2/)
  assert.match(text, /intake_forgotten_total\{table="wrong-tokens"\} 1/)
})

test('content types of a push (rule 9)', () => {
  const cases: [header: string | undefined, kind: string, charset: string | undefined][] = [
    [undefined, 'json', undefined],
    ['', 'json', undefined],
    ['application/json', 'json', undefined],
    ['Application/JSON; charset=UTF-8', 'json', 'UTF-8'],
    ['application/json;charset="windows-1252"', 'json', 'windows-1252'],
    ['application/json; foo=bar; Charset = latin1;', 'json', 'latin1'],
    ['text/plain;', 'json', undefined],
    ['application/x-www-form-urlencoded; charset=utf-8', 'form', 'utf-8'],
  ]
  for (const [header, kind, charset] of cases) {
    assert.deepEqual(readContentType(header), { kind, charset }, header)
  }
  for (const header of ['image/png', 'text/html', 'multipart/form-data; boundary=x', 'json']) {
    assert.throws(() => readContentType(header), { code: 'unsupported-media-type' }, header)
  }
})
