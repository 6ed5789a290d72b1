// Built from its source by the Go tool, where that is installed.
import { join } from 'node:path'
import type { FetchWay } from './fetch.ts'
import { releaseVersion } from './from-release.ts'
import { run } from './run.ts'

export const fromGo: FetchWay = {
  name: 'built by go install',
  get: async work => {
    const module = `github.com/nats-io/nats-server/v2@v${releaseVersion}`
    await run('go', ['install', module], { cwd: work, env: { GOBIN: work }, timeoutMs: 600_000 })
    return join(work, 'nats-server')
  },
}
