// A program for the tests: embeds a nats-server on the folder of its first argument, prints the address, stays.
import { EmbeddedNats } from '../../src/nats-server/embedded.ts'
import { findNatsServer } from '../../src/nats-server/find.ts'
import { createLog } from '../../src/observe/log.ts'

const nats = new EmbeddedNats({
  dataDir: process.argv[2] ?? '',
  binary: await findNatsServer(),
  log: createLog('silent'),
  onFailed: () => process.exit(1),
})
try {
  console.log(JSON.stringify(await nats.start()))
} catch (error) {
  console.log(JSON.stringify({ refused: (error as Error).message }))
  process.exit(0)
}
process.stdin.resume().on('end', () => void nats.stop().then(() => process.exit(0)))
