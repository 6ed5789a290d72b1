// No gap, no double, no step back, wherever a connection breaks (rule 25). The long version: npm run soak:resume
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCuts } from '../helpers/cuts.ts'

test('40 players, cut at random and resuming, have exactly what was shown', { timeout: 90_000 }, async () => {
  const result = await runCuts({
    clients: 40,
    seconds: 3,
    channels: 4,
    rate: 80,
    leastPushes: 100,
    leastCuts: 80,
    faults: true,
  })
  const { gaps, missing, doubles, stepsBack, others, refused } = result
  assert.deepEqual(
    { gaps, missing, doubles, stepsBack, others, refused },
    { gaps: 0, missing: 0, doubles: 0, stepsBack: 0, others: 0, refused: 0 },
    JSON.stringify(result),
  )
  assert.ok(result.records > 1_000, JSON.stringify(result))
})
