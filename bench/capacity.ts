// docs/capacity.md: what ten million listeners need, from the figures of bench/results.json.
//
//   node --import tsx bench/capacity.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { figure, type Row } from './harness/rows.ts'
import type { Results } from './scenarios.ts'
import { simulate } from './storm.ts'

const results: Results = JSON.parse(readFileSync(new URL('results.json', import.meta.url), 'utf8'))

/** The first number in what a row was made from: ours, in `A against B`. */
function measured(scenario: string, what: string): number {
  const row: Row | undefined = results[scenario]?.rows.find(row => row.what.startsWith(what))
  const number = Number.parseFloat(/[\d.,]+/.exec(row?.from ?? '')?.[0].replaceAll(',', '') ?? '')
  if (Number.isNaN(number)) throw new Error(`run the scenario ${scenario} first: ${what} is missing`)
  return number
}

const listeners = 10_000_000
const stations = 5_000
const channelsPerStation = 4
/** A play lasts so long, and brings two records to each listener of its channel: the next one and the one now. */
const playSeconds = 200
const recordsPerPlay = 2
const clientsPerEdge = 50_000
const valueBytes = 2_500
const kernelBytes = 4_096

const deliveryMicros = measured('fan-out', 'CPU per million deliveries, 9,000 clients')
const connectsPerSecond = measured('connects', 'connects a second')
const socketKilobytes = measured('connects', 'memory per idle WebSocket')
const edgeMegabytes = measured('start', 'memory at its highest')
const pushMicros = measured('intake', 'CPU per push')

const channels = stations * channelsPerStation
const edges = Math.ceil(listeners / clientsPerEdge)
const deliveriesPerSecond = (listeners * recordsPerPlay) / playSeconds
const pushesPerSecond = (channels * recordsPerPlay) / playSeconds
const coresOnAverage = (deliveriesPerSecond * deliveryMicros) / 1e6
const hourSeconds = (clientsPerEdge * recordsPerPlay * deliveryMicros) / 1e6
const trafficPerEdge = (pushesPerSecond * valueBytes) / 1e6
const gigabits = (trafficPerEdge * edges * 8) / 1000
const channelMegabytes = (edgeMegabytes * channels) / 100_000
const memoryPerEdge = channelMegabytes + (clientsPerEdge * (socketKilobytes * 1024 + kernelBytes)) / 2 ** 20

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
| deliveries a second, on average | ${n(listeners)} × ${recordsPerPlay} / ${playSeconds} s | ${n(deliveriesPerSecond)} |
| CPU for them | × ${figure(deliveryMicros)} µs | ${figure(coresOnAverage)} cores of ${n(edges)} |
| when every channel changes at once (the news on the hour) | ${n(clientsPerEdge)} × ${recordsPerPlay} × ${figure(deliveryMicros)} µs an edge | the last one has it after ${figure(hourSeconds)} s |
| memory of an edge | ${n(channels)} channels: ${figure(channelMegabytes)} MB; ${n(clientsPerEdge)} × (${figure(socketKilobytes)} KB + ${figure(kernelBytes / 1024)} KB) | ${n(Math.round(memoryPerEdge))} MB |
| pushes a second | ${n(channels)} × ${recordsPerPlay} / ${playSeconds} s | ${n(pushesPerSecond)} |
| CPU for them | × ${figure(pushMicros)} µs | ${figure((pushesPerSecond * pushMicros) / 1e6)} of a core: two intakes, for failure and not for load |
| NATS to one edge | ${n(pushesPerSecond)} × ${n(valueBytes)} bytes | ${figure(trafficPerEdge)} MB/s |
| NATS to all edges | × ${n(edges)} | ${figure(gigabits)} Gbit/s |

What decides the number of edges is not the average but the hour and the loss of an edge: twice as many clients an edge
would take half as many processes, and twice ${figure(hourSeconds)} s on the hour. Set the file limit above the sockets
(\`ulimit -n\`, ${n(clientsPerEdge)} / 0.9) and \`net.core.somaxconn\` to 512 or more.

## NATS

Every edge follows the whole bucket \`channel\`, whoever listens to it. That costs what the table says, from the server
that holds the consumer. Three servers carry it while ${figure(trafficPerEdge)} MB/s times their edges stays well within
a network card: of 10 Gbit/s with ease, of 1 Gbit/s up to about ${n(Math.floor(600 / 8 / trafficPerEdge))} edges.
Beyond that, and for edges at another site:

- A **leaf node** at the site, on its own, saves connections and no traffic: each edge's consumer still sends its own copy
  over the link.
- A **mirror** of \`KV_channel\` in a JetStream domain of the leaf node is sent over the link once, and the edges of the
  site follow the mirror. An edge of today refuses to start on one: it checks that the stream has its subjects, which a
  mirror has not. So this is a design with room for it, not a feature.
- A start of all edges at once reads the bucket ${n(edges)} times. Start them in groups.

## When one edge dies

Its ${n(clientsPerEdge)} clients come back to the others at random. An edge connects
${n(Math.round(connectsPerSecond))} a second, with a snapshot each; its listen queues hold ${n(8 * 512)}, past them a SYN
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
