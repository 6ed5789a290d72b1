// What happens when one of several edges dies: a simulation of the clients that come back, from measured figures.

export type Storm = {
  edges: number
  /** Clients on each edge before. */
  clientsPerEdge: number
  /** What an edge can connect, with a snapshot each. */
  connectsPerSecond: number
  /** Clients wait for a random time up to this before they connect again, seconds. */
  jitterSeconds: number
}

export type Outcome = {
  /** Seconds until half, 99 of 100, and all are back. */
  half: number
  most: number
  all: number
  /** Connection attempts that found the listen queue full. */
  refused: number
}

/** Eight listen queues of 512 each; past them the kernel drops the SYN and the client's kernel sends it again. */
const queueLength = 8 * 512
const retransmitSeconds = [1, 2, 4, 8, 16, 32]
const tickSeconds = 0.01

export function simulate({ edges, clientsPerEdge, connectsPerSecond, jitterSeconds }: Storm): Outcome {
  const random = randomFrom(1)
  const left = edges - 1
  // Who arrives in which tick, by the number of attempts made before.
  const arrivals = new Map<number, number[]>()
  const arrive = (seconds: number, attempts: number) => {
    const tick = Math.floor(seconds / tickSeconds)
    arrivals.set(tick, [...(arrivals.get(tick) ?? []), attempts])
  }
  for (let client = 0; client < clientsPerEdge; client++) arrive(random() * jitterSeconds, 0)
  const queues = new Array<number>(left).fill(0)
  const credit = new Array<number>(left).fill(0)
  const back: number[] = []
  let refused = 0
  for (let tick = 0; back.length < clientsPerEdge; tick++) {
    for (const attempts of arrivals.get(tick) ?? []) {
      const edge = Math.floor(random() * left)
      if ((queues[edge] ?? 0) < queueLength) queues[edge] = (queues[edge] ?? 0) + 1
      else {
        refused++
        const wait = retransmitSeconds[Math.min(attempts, retransmitSeconds.length - 1)] ?? 1
        arrive((tick + 1) * tickSeconds + wait, attempts + 1)
      }
    }
    arrivals.delete(tick)
    for (let edge = 0; edge < left; edge++) {
      const room = (credit[edge] ?? 0) + connectsPerSecond * tickSeconds
      const served = Math.min(queues[edge] ?? 0, Math.floor(room))
      queues[edge] = (queues[edge] ?? 0) - served
      credit[edge] = Math.min(room - served, connectsPerSecond * tickSeconds)
      for (let client = 0; client < served; client++) back.push((tick + 1) * tickSeconds)
    }
  }
  const at = (part: number) => back[Math.ceil(back.length * part) - 1] ?? 0
  return { half: at(0.5), most: at(0.99), all: at(1), refused }
}

/** The same numbers each time: a mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
