// Who resumes in a loop is slowed, and nobody else (rule 25).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResumeRate, resumeRate, shortVisitMs } from '../../src/edge/resume-rate.ts'

function world() {
  let nowMs = 0
  const rate = new ResumeRate(() => nowMs)
  const visit = (address: string, what: string, visitMs: number) => {
    rate.enter(address)
    nowMs += visitMs
    rate.visited({ address, what }, visitMs)
    rate.leave(address)
  }
  return {
    rate,
    visit,
    pass(ms: number) {
      nowMs += ms
    },
  }
}

test('as many short visits as may be, and one more; then a few a second', () => {
  const { rate, visit, pass } = world()
  const loop = { address: '1', what: 'x' }
  for (let count = 0; count < resumeRate.burst - 1; count++) visit('1', 'x', 0)
  assert.equal(rate.allows(loop), true)
  visit('1', 'x', 0)
  assert.equal(rate.allows(loop), false)
  for (const other of [
    { address: '2', what: 'x' },
    { address: '1', what: 'y' },
  ])
    assert.equal(rate.allows(other), true)
  pass(1_000 / resumeRate.perSecond)
  assert.equal(rate.allows(loop), true)
  visit('1', 'x', 0)
  assert.equal(rate.allows(loop), false)
})

test('long visits are none', () => {
  const { rate, visit } = world()
  for (let count = 0; count < resumeRate.burst * 2; count++) visit('1', 'x', shortVisitMs)
  assert.equal(rate.allows({ address: '1', what: 'x' }), true)
})

test('many behind one address that are cut off at once may come back at once', () => {
  const { rate, pass } = world()
  for (let client = 0; client < 1_000; client++) rate.enter('proxy')
  for (let client = 0; client < 1_000; client++) {
    rate.visited({ address: 'proxy', what: 'x' }, 10)
    rate.leave('proxy')
  }
  pass(1_000)
  for (let client = 0; client < 1_000; client++) {
    assert.equal(rate.allows({ address: 'proxy', what: 'x' }), true)
    rate.enter('proxy')
  }
})
