// A storm of resumes is answered from memory, or by one read of the log per channel (rule 25). 5,000: npm run bench:resumes
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadableUws } from '../../src/edge/uws.ts'
import { metricOf } from '../helpers/log.ts'
import { runStorm, showForStorm } from './storm.ts'
import { createWorld, type World } from './world.ts'

const resumes = 500

let world: World
before(async () => {
  world = await createWorld()
})
after(() => world.close())

for (const uws of loadableUws()) {
  test(`${resumes} resumes at once on ${uws.name} ${uws.version}`, async () => {
    const before = await world.edge({ uws })
    const positions = await showForStorm(world, { records: 30 })
    const fromMemory = await runStorm(before, positions, { resumes, records: 30 })
    assert.equal(fromMemory.wrong, 0)
    assert.equal(await metricOf(before.metrics.edgeLogReads), 0)
    const fresh = await world.edge({ uws })
    const fromLog = await runStorm(fresh, positions, { resumes, records: 30 })
    assert.equal(fromLog.wrong, 0)
    assert.equal(await metricOf(fresh.metrics.edgeLogReads), 3)
    assert.equal(await metricOf(fresh.metrics.edgeResumes, { from: 'log' }), resumes)
  })
}
