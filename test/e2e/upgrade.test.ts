// Data of an older commit and the code of today: both logs as that release wrote them, byte for byte, and what it showed.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { readValue } from '../../src/domain/value.ts'
import { readStream } from '../helpers/fold.ts'
import { openLog, until } from '../helpers/log.ts'
import { startNats } from '../helpers/nats.ts'
import { inRoot } from '../helpers/root.ts'
import { startService } from '../helpers/service.ts'

/** First line: what the old release showed. Then every message of its streams; a missing sequence is `gone`. */
const file = inRoot('test/e2e/older/eedbb39.ndjson')

type Old = { incarnation: string; token: string; polls: Record<string, string> }
type Message = {
  stream: string
  gone?: true
  subject: string
  timeMs: number
  headers: Record<string, string>
  data: string
}

test('data of an older commit: shown as it was, and it goes on', { timeout: 60_000 }, async () => {
  const [head = '', ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  const old: Old = JSON.parse(head)
  const messages = lines.map(line => JSON.parse(line) as Message)
  const nats = await startNats()
  try {
    await restore(nats.url, old.incarnation, messages)
    const service = await startService({ roles: 'intake,projector,edge,console', natsUrl: nats.url })
    try {
      for (const [path, body] of Object.entries(old.polls))
        assert.equal(await textAt(service.apiUrl + path), body, path)
      assert.equal((await fetch(`${service.apiUrl}/metadata/channel/up_removed.json`)).status, 404)

      const push = `${service.baseUrl}/metapush/up_plain/${old.token}?song=Today&artist=Now`
      assert.equal((await fetch(push)).status, 200)
      const shown = async () =>
        (await textAt(`${service.apiUrl}/metadata/channel/up_plain.txt`)) === 'Now - Today'
      await until('the new push is shown', shown)
      await assertContinued(nats.url, messages)
    } finally {
      await service.stop()
    }
  } finally {
    await nats.stop()
  }
})

/** The streams as the old release made them, then its messages, each under its sequence. */
async function restore(url: string, incarnation: string, messages: Message[]): Promise<void> {
  const log = await openLog(url)
  await log.connection.close()
  const nc = await connect({ servers: url })
  try {
    await bearIncarnation(nc, incarnation)
    for (const message of messages) await restoreOne(nc, message)
  } finally {
    await nc.close()
  }
}

async function bearIncarnation(nc: NatsConnection, incarnation: string): Promise<void> {
  const { streams } = await jetstreamManager(nc)
  const { config } = await streams.info('KV_channel')
  await streams.update('KV_channel', {
    ...config,
    metadata: { ...config.metadata, 'nownext-incarnation': incarnation },
  })
}

async function restoreOne(nc: NatsConnection, message: Message): Promise<void> {
  const head = headers()
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    // What the old server was asked to expect then.
    if (!/^Nats-(Expected|Msg-Id)/.test(name)) head.set(name, value)
  }
  if (message.stream === 'EVENTS') head.set('Nownext-Time', String(message.timeMs))
  const js = jetstream(nc)
  if (message.gone !== true) {
    await js.publish(message.subject, message.data, { headers: head })
    return
  }
  // In its place a message that is removed at once.
  const subject = `$KV.${message.stream.slice('KV_'.length)}.gone`
  const { seq } = await js.publish(subject, '', { headers: head })
  await (await jetstreamManager(nc)).streams.deleteMessage(message.stream, seq)
}

/** Nothing of the old is written anew, and the new value follows its channel's last one. */
async function assertContinued(url: string, messages: Message[]): Promise<void> {
  const shown = await readStream(url, 'KV_channel')
  const before = messages.filter(({ stream, gone }) => stream === 'KV_channel' && gone !== true)
  assert.deepEqual(
    shown.slice(0, before.length).map(message => message.string()),
    before.map(({ data }) => data),
  )
  const mine = shown.filter(({ subject }) => subject === '$KV.channel.up_plain')
  const [last, added] = mine.slice(-2)
  assert.equal(readValue(added?.string() ?? '').prev, last?.seq)
}

async function textAt(url: string): Promise<string> {
  return await (await fetch(url)).text()
}
