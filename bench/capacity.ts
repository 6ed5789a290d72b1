// docs/capacity.md: what ten million listeners need, from the figures of bench/results.json.
//
//   node --import tsx bench/capacity.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { figure, type Row } from './harness/rows.ts'
import type { Results } from './scenarios.ts'
import { simulate } from './storm.ts'

const results: Results = JSON.parse(readFileSync(new URL('results.json', import.meta.url), 'utf8'))

/** The first number in a part of a row. */
function numberIn(scenario: string, what: string, part: (row: Row) => string): number {
  const row = results[scenario]?.rows.find(row => row.what.startsWith(what))
  const text = row === undefined ? '' : part(row)
  const number = Number.parseFloat(/[\d.,]+/.exec(text)?.[0].replaceAll(',', '') ?? '')
  if (Number.isNaN(number)) throw new Error(`run the scenario ${scenario} first: ${what} is missing`)
  return number
}

/** What a ratio was made from: ours, in `A against B`. */
const measured = (scenario: string, what: string) => numberIn(scenario, what, ({ from }) => from)
const reached = (scenario: string, what: string) => numberIn(scenario, what, ({ reached }) => reached)

const listeners = 10_000_000
const stations = 5_000
const channelsPerStation = 4
/** A play lasts so long, and brings two records to each listener of its channel: the next one and the one now. */
const playSeconds = 200
const recordsPerPlay = 2
const clientsPerEdge = 50_000
const valueBytes = 2_500
const kernelBytes = 4_096

/** How many listeners of a channel the scenario `growth` has. */
const growthAudience = 10
/** What of a network card may be used for this. */
const cardShare = 0.6
const queues = 8 * 512

const deliveryMicros = measured('fan-out', 'CPU per million deliveries, 9,000 clients')
const smallDeliveryMicros = numberIn(
  'growth',
  'CPU per delivery',
  ({ from }) => from.split('10,000: ')[1] ?? '',
)
/** What a change costs an edge whoever listens: reading it, and up to four topics. */
const changeMicros = Math.max(0, growthAudience * (smallDeliveryMicros - deliveryMicros))
const connectsPerSecond = measured('connects', 'connects a second')
const socketKilobytes = measured('connects', 'memory per idle WebSocket')
const edgeMegabytes = reached('start', 'memory at its highest')
const baseMegabytes = reached('start', 'memory with 100 channels')
const pushMicros = measured('intake', 'CPU per push')
const acksPerSecond = measured('intake', 'acknowledged pushes a second')

const channels = stations * channelsPerStation
const edges = Math.ceil(listeners / clientsPerEdge)
const changesPerSecond = (channels * recordsPerPlay) / playSeconds
const deliveriesPerSecond = (clientsPerEdge * recordsPerPlay) / playSeconds
const coreShare = (changesPerSecond * changeMicros + deliveriesPerSecond * deliveryMicros) / 1e6
const hourChanges = channels * recordsPerPlay
const hourEdgeSeconds = (hourChanges * changeMicros + clientsPerEdge * recordsPerPlay * deliveryMicros) / 1e6
const hourPushSeconds = hourChanges / acksPerSecond
const hourGigabits = (hourChanges * valueBytes * edges * 8) / 1e9
const trafficPerEdge = (changesPerSecond * valueBytes) / 1e6
const gigabits = (trafficPerEdge * edges * 8) / 1000
const channelMegabytes = ((edgeMegabytes - baseMegabytes) * channels) / 100_000
const memoryPerEdge =
  baseMegabytes + channelMegabytes + (clientsPerEdge * (socketKilobytes * 1024 + kernelBytes)) / 2 ** 20

const storms = [2, 5, 10, 50, edges].flatMap(count =>
  [0, 5, 30].map(jitterSeconds => {
    const outcome = simulate({ edges: count, clientsPerEdge, connectsPerSecond, jitterSeconds })
    const cells = [outcome.half, outcome.most, outcome.all].map(seconds => `${seconds.toFixed(1)} s`)
    return `| ${count} | ${jitterSeconds} s | ${cells.join(' | ')} | ${outcome.refused.toLocaleString('en')} |`
  }),
)

const n = (value: number) => value.toLocaleString('en')
const text = `# Capacity

Made by \`node --import tsx bench/capacity.ts\` from the figures of [performance.md](performance.md), measured there on
one small virtual machine under the load that it names; do not edit. Take your own figures with \`npm run bench\`: the
arithmetic stays.

## Ten million listeners on ${n(stations)} stations

Assumed, not measured: ${channelsPerStation} channels a station (${n(channels)}); a play of ${playSeconds} s that brings
each listener ${recordsPerPlay} records; every listener on a WebSocket of one channel; ${n(clientsPerEdge)} of them an
edge process, one core each; a value of the log ${n(valueBytes)} bytes; ${n(kernelBytes)} bytes of the kernel an idle
connection.

| what | arithmetic | result |
|---|---|---|
| edge processes | ${n(listeners)} / ${n(clientsPerEdge)} | ${n(edges)} |
| changes a second, at every edge | ${n(channels)} × ${recordsPerPlay} / ${playSeconds} s | ${n(changesPerSecond)} |
| deliveries a second of an edge | ${n(clientsPerEdge)} × ${recordsPerPlay} / ${playSeconds} s | ${n(deliveriesPerSecond)} |
| CPU of an edge, on average | ${n(changesPerSecond)} × ${figure(changeMicros)} µs + ${n(deliveriesPerSecond)} × ${figure(deliveryMicros)} µs | ${figure(coreShare * 100)} % of its core |
| memory of an edge | ${figure(baseMegabytes)} MB; ${n(channels)} channels: ${figure(channelMegabytes)} MB; ${n(clientsPerEdge)} × (${figure(socketKilobytes)} KB + ${figure(kernelBytes / 1024)} KB) | ${n(Math.round(memoryPerEdge))} MB |
| CPU for the pushes | ${n(changesPerSecond)} a second × ${figure(pushMicros)} µs | ${figure((changesPerSecond * pushMicros) / 1e6)} of a core: two intakes, for failure and not for load |
| NATS to one edge | ${n(changesPerSecond)} × ${n(valueBytes)} bytes | ${figure(trafficPerEdge)} MB/s |
| NATS to all edges | × ${n(edges)} | ${figure(gigabits)} Gbit/s |

A delivery costs ${figure(deliveryMicros)} µs where thousands get the same record (the scenario fan-out). A change costs besides what
it costs to read it, whoever listens: with ${growthAudience} listeners a channel a delivery takes ${figure(smallDeliveryMicros)} µs (growth), so a change
${growthAudience} × (${figure(smallDeliveryMicros)} − ${figure(deliveryMicros)}) = ${figure(changeMicros)} µs. Here a channel has ${figure(clientsPerEdge / channels)} listeners at an edge, so that is most of it.

## On the hour

The average decides little. When every channel changes at once, ${n(hourChanges)} records are pushed:

| where | arithmetic | result |
|---|---|---|
| the log takes them | ${n(hourChanges)} / ${n(acksPerSecond)} a second (one nats-server, each write synced) | ${figure(hourPushSeconds)} s |
| an edge reads them all, and delivers its own | ${n(hourChanges)} × ${figure(changeMicros)} µs + ${n(clientsPerEdge * recordsPerPlay)} × ${figure(deliveryMicros)} µs | ${figure(hourEdgeSeconds)} s |
| NATS sends them to all edges | ${n(hourChanges)} × ${n(valueBytes)} bytes × ${n(edges)} | ${figure(hourGigabits)} Gbit: ${figure(hourGigabits / (10 * cardShare))} s of one card of 10 Gbit/s at ${cardShare * 100} % |

The three go on at the same time, so the last listener has it after about the longest of them. More clients on each edge
are fewer edges and less to send; more edges for the same channels make nothing faster. What helps is to spread the
edges' consumers over the servers of the cluster, and mirrors at the sites. Set the file limit above the sockets
(\`ulimit -n\`, ${n(clientsPerEdge)} / 0.9) and \`net.core.somaxconn\` to 512 or more.

## NATS

Every edge follows the whole bucket \`channel\`, whoever listens to it. That costs what the tables say, from the server
that holds the consumer. On average a card of 1 Gbit/s, ${cardShare * 100} % of it used for this, carries
${n(Math.floor((1000 * cardShare) / 8 / trafficPerEdge))} edges. Beyond that, and for edges at another site:

- A **leaf node** at the site, on its own, saves connections and no traffic: each edge's consumer still sends its own copy
  over the link.
- A **mirror** of \`KV_channel\` in a JetStream domain of the leaf node is sent over the link once, and the edges of the
  site follow the mirror. An edge of today refuses to start on one: it checks that the stream has its subjects, which a
  mirror has not. So this is a design with room for it, not a feature.
- A start of all edges at once reads the bucket ${n(edges)} times. Start them in groups.

## When one edge dies

Its ${n(clientsPerEdge)} clients come back to the others at random. An edge connects
${n(Math.round(connectsPerSecond))} a second, with a snapshot each; its listen queues hold ${n(queues)} (eight of 512), past them a SYN
is dropped and sent again after 1, 2, 4 … s. Clients wait a random time up to *jitter* first. Simulated (\`bench/storm.ts\`):

| edges before | jitter | half are back | 99 % | all | SYNs dropped |
|---|---|---|---|---|---|
${storms.join('\n')}

With few edges the players' jitter is what makes a loss bearable: at least the clients of one edge over what the others
connect, ${n(clientsPerEdge)} / ((edges − 1) × ${n(Math.round(connectsPerSecond))}) seconds. Load from
new connections falls on the same core as deliveries, so keep the average below half a core.
`
writeFileSync(fileURLToPath(new URL('../docs/capacity.md', import.meta.url)), text)
console.log('written: docs/capacity.md')
