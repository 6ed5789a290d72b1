// A projector in a process of its own, for tests that stop it as only a process can be stopped. It says on standard
// output when it becomes active and when it stands by.
import { Projector } from '../../src/projector/projector.ts'
import { metricOf, openLog, testLogger } from '../helpers/log.ts'

const [, , url = ''] = process.argv
const log = await openLog(url)
const projector = new Projector({ ...log, log: testLogger })
await projector.start()
let wasActive = false
setInterval(async () => {
  const isActive = (await metricOf(log.metrics.projectorActive)) === 1
  if (isActive !== wasActive) console.log(isActive ? 'active' : 'standing by')
  wasActive = isActive
}, 10)
