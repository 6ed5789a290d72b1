// An address of its own for each nats-server, so that one can be cut off: network namespaces on a bridge where this
// machine lets us (root, Linux), loopback with other ports where not.
import { execFileSync } from 'node:child_process'

export type Place = {
  /** Where the server is reached. */
  readonly address: string
  /** Put before its command. */
  readonly prefix: readonly string[]
}

export type Network = {
  /** Whether places can be cut off. */
  readonly isolated: boolean
  /** Place `index` of three, from 0. */
  place(index: number): Place
  /** No packet reaches the place or leaves it any more; its processes run on. */
  cutOff(index: number): void
  heal(index: number): void
  /** Shell commands that remove everything, whatever of it is there. */
  readonly cleanUp: string
}

const places = [0, 1, 2]

/** Makes the namespaces, or finds that it can't. */
export function makeNetwork(): Network {
  const name = `nn${process.pid.toString(36)}`
  const namespaces = new Namespaces(name)
  try {
    namespaces.make()
    return namespaces
  } catch (error) {
    if (!(error instanceof Error)) throw error
    sh(namespaces.cleanUp)
    return loopback
  }
}

const loopback: Network = {
  isolated: false,
  place: () => ({ address: '127.0.0.1', prefix: [] }),
  cutOff() {
    throw new Error('without network namespaces nothing can be cut off')
  },
  heal() {
    throw new Error('without network namespaces nothing was cut off')
  },
  cleanUp: 'true',
}

class Namespaces implements Network {
  readonly isolated = true
  readonly #name: string
  #subnet = ''

  constructor(name: string) {
    this.#name = name
  }

  get cleanUp(): string {
    // A namespace lives on while a killed process still goes, and its link with it.
    const ofPlaces = places.flatMap(index => [
      `ip link del ${this.#link(index)}`,
      `ip netns del ${this.#name}-${index}`,
    ])
    return [...ofPlaces, `ip link del ${this.#name}`]
      .map(command => `${command} 2>/dev/null`)
      .concat('true')
      .join('; ')
  }

  make(): void {
    this.#subnet = freeSubnet()
    const bridge = this.#name
    run(`ip link add ${bridge} type bridge`)
    run(`ip addr add ${this.#subnet}.1/24 dev ${bridge}`)
    run(`ip link set ${bridge} up`)
    for (const index of places) {
      const space = `${bridge}-${index}`
      run(`ip netns add ${space}`)
      run(`ip link add ${this.#link(index)} type veth peer name eth0 netns ${space}`)
      run(`ip link set ${this.#link(index)} master ${bridge} up`)
      run(`ip -n ${space} addr add ${this.place(index).address}/24 dev eth0`)
      run(`ip -n ${space} link set eth0 up`)
      run(`ip -n ${space} link set lo up`)
    }
  }

  place(index: number): Place {
    return {
      address: `${this.#subnet}.${11 + index}`,
      prefix: ['ip', 'netns', 'exec', `${this.#name}-${index}`],
    }
  }

  cutOff(index: number): void {
    run(`ip link set ${this.#link(index)} down`)
  }

  heal(index: number): void {
    run(`ip link set ${this.#link(index)} up`)
  }

  #link(index: number): string {
    return `${this.#name}v${index}`
  }
}

/** The first three numbers of a private /24 that no interface here has. */
function freeSubnet(): string {
  const inUse = execFileSync('ip', ['-4', 'addr'], { encoding: 'utf8' })
  for (let third = 0; third < 256; third++) {
    const subnet = `10.213.${(third + process.pid) % 256}`
    if (!inUse.includes(`${subnet}.`)) return subnet
  }
  throw new Error('10.213.0.0/16 is all in use')
}

function run(command: string): void {
  const [file = '', ...args] = command.split(' ')
  execFileSync(file, args, { stdio: 'pipe' })
}

function sh(command: string): void {
  execFileSync('sh', ['-c', command], { stdio: 'ignore' })
}
