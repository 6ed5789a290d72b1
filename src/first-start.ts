// The first start of an embedded service: a demo station to try it with, and what to paste.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Addresses } from './addresses.ts'
import { adminTokenFile, loadAdminToken } from './config/admin-token.ts'
import { type Config, options } from './config/options.ts'
import { generateToken } from './domain/keys.ts'
import { plainChannel } from './domain/registry.ts'
import type { Logger } from './observe/log.ts'
import type { Roles } from './roles.ts'

export type Demo = { channelkey: string; token: string }

const station = { key: 'demo', name: 'Demo Radio', timezone: null }
const channels = [
  { key: 'demo_pop', name: 'Demo Radio Pop' },
  { key: 'demo_jazz', name: 'Demo Radio Jazz' },
]

/** Makes the demo station with its two channels; resolves to the push token of each. */
export async function makeDemo({ registry, tokens }: Pick<Roles, 'registry' | 'tokens'>): Promise<Demo[]> {
  await registry.putStation(station)
  return await Promise.all(
    channels.map(async ({ key, name }) => {
      await registry.putChannel(plainChannel(key, station.key, name))
      const token = generateToken()
      await tokens.add(key, token, 'first')
      return { channelkey: key, token }
    }),
  )
}

/** Tells how to begin. It holds secrets: to a terminal only, else to a file that only the owner can read. */
export function firstSteps(config: Config, addresses: Addresses, demo: readonly Demo[], log: Logger): void {
  if (process.stdout.isTTY) {
    process.stdout.write(`\n${firstText(config, addresses, demo, 'are shown only now')}\n`)
    return
  }
  const file = join(config.data, 'first-steps.txt')
  mkdirSync(config.data, { recursive: true, mode: 0o700 })
  // Made anew: an existing file would keep its permissions.
  rmSync(file, { force: true })
  writeFileSync(file, firstText(config, addresses, demo, 'are stored nowhere else'), { mode: 0o600 })
  log.info({ file }, `the demo station's tokens and the first steps are in ${file}`)
}

/** The addresses again, without secrets; only people need them. */
export function laterSteps(config: Config, addresses: Addresses): void {
  if (process.stdout.isTTY) process.stdout.write(`\n${addressLines(config, addresses)}\n`)
}

/** tokensAre: completes a sentence. */
function firstText(config: Config, addresses: Addresses, demo: readonly Demo[], tokensAre: string): string {
  const { base_url, api_url, api_ws_url, console_url } = addresses
  const [first] = demo
  if (first === undefined) return addressLines(config, addresses)
  const watch = `${commandName()} watch ${first.channelkey}${flagUnlessDefault('apiUrl', api_url)}`
  const steps = [
    `The station "${station.key}" with the channels ${demo.map(d => d.channelkey).join(' and ')} is there to try.`,
    `Their push tokens ${tokensAre}; "token add" makes another one.`,
    '',
    api_ws_url &&
      `Watch it live, by WebSocket (${api_ws_url}/metadata/channel/${first.channelkey}):\n  ${watch}\n`,
    base_url && 'Push what is playing:',
    ...demo.map(({ channelkey, token }) => base_url && `  ${pushCommand(base_url, channelkey, token)}`),
    '',
    api_url && `Read it:\n  curl ${api_url}/metadata/channel/${first.channelkey}.json\n`,
    console_url && `Admin token of the console (${console_url}):\n  ${loadAdminToken(config)}\n`,
    addressLines(config, addresses),
  ]
  return steps.filter(step => step !== undefined).join('\n')
}

function pushCommand(baseUrl: string, channelkey: string, token: string): string {
  const query = 'artist=Nina+Simone&song=Feeling+Good&duration=174'
  return `curl '${baseUrl}/metapush/${channelkey}/${token}?${query}'`
}

function addressLines(config: Config, addresses: Addresses): string {
  const { base_url, api_url, api_ws_url, console_url, legacy_player_url, ops_url } = addresses
  const adminToken = config.adminToken === undefined ? `in ${adminTokenFile(config.data)}` : 'as configured'
  const lines: Array<[what: string, where: string | undefined]> = [
    ['push', base_url],
    ['delivery', api_url && `${api_url}  ${api_ws_url}`],
    ['console', console_url && `${console_url}  admin token ${adminToken}`],
    ['old players', legacy_player_url],
    ['operations', `${ops_url}/readyz  ${ops_url}/metrics`],
  ]
  return lines.flatMap(([what, where]) => (where ? [`${what.padEnd(12)}${where}\n`] : [])).join('')
}

/** How this very program is called: what is printed must work when pasted. */
export function commandName(): string {
  const script = process.argv[1] ?? 'nownext'
  if (!/\.[jt]s$/.test(script)) return 'nownext'
  const path = relative(process.cwd(), script)
  return script.endsWith('.ts') ? `npx tsx ${path}` : `node ${path}`
}

function flagUnlessDefault(name: 'apiUrl', url: string | undefined): string {
  const option = options[name]
  return url === undefined || url === option.default ? '' : ` --${option.flag} ${url}`
}
