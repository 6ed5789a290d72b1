// Flags over variables over defaults, and what is said where one is wrong.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentName, options } from '../../src/config/options.ts'
import { parseCommandLine, parseConfig } from '../../src/config/parse.ts'
import { optionsTable } from '../../src/config/render.ts'

test('without flags and variables the defaults count', () => {
  const config = parseConfig([], { PATH: '/bin' })
  assert.equal(config.intakePort, 8100)
  assert.equal(config.edgePort, 8200)
  assert.equal(config.consolePort, 8300)
  assert.equal(config.opsPort, 8400)
  assert.equal(config.legacyPort, 8500)
  assert.equal(config.host, '127.0.0.1')
  assert.deepEqual(config.roles, ['intake', 'projector', 'edge', 'console', 'icecast'])
  assert.equal(config.natsUrl, undefined)
  assert.equal(config.pushRate, 20)
})

test('a flag wins over a variable, and that over the default', () => {
  const env = { NOWNEXT_EDGE_PORT: '1', NOWNEXT_HOST: '::1' }
  const config = parseConfig(['--edge-port', '2', '--intake-port=3'], env)
  assert.deepEqual([config.edgePort, config.host, config.intakePort], [2, '::1', 3])
})

test('of a repeated flag the last counts, and an empty variable is unset', () => {
  assert.equal(parseConfig(['--drain', '1', '--drain', '3'], { NOWNEXT_PUSH_RATE: '' }).drain, 3)
})

const good: Array<[argv: string[], name: keyof typeof options, value: unknown]> = [
  [['--intake-port', '0'], 'intakePort', 0],
  [['--intake-port', '65535'], 'intakePort', 65_535],
  [['--replicas', '5'], 'replicas', 5],
  [['--push-rate', '0.1'], 'pushRate', 0.1],
  [['--roles', ' edge, intake,edge'], 'roles', ['edge', 'intake']],
  [['--legacy-sunset', '2028-02-29'], 'legacySunset', '2028-02-29'],
  [['--nats-url', 'nats://u:p@a:1,tls://b:2'], 'natsUrl', 'nats://u:p@a:1,tls://b:2'],
  [['--admin-token', 'sixteen-chars-00'], 'adminToken', 'sixteen-chars-00'],
  [['--log-level', 'silent'], 'logLevel', 'silent'],
  [['--edges', '64'], 'edges', 64],
]
for (const [argv, name, value] of good)
  test(`taken: ${argv.join(' ')}`, () => assert.deepEqual(parseConfig(argv, {})[name], value))

const bad: Array<[argv: string[], message: string]> = [
  [
    ['--intake-port', '65536'],
    '--intake-port is "65536"; it must be a port, 0 to 65535 (0 takes a free one)',
  ],
  [['--intake-port', '80x'], '--intake-port is "80x"; it must be a port, 0 to 65535 (0 takes a free one)'],
  [['--replicas', '6'], '--replicas is "6"; it must be a whole number from 1 to 5'],
  [['--replicas', '0'], '--replicas is "0"; it must be a whole number from 1 to 5'],
  [['--replicas', '1.5'], '--replicas is "1.5"; it must be a whole number from 1 to 5'],
  [['--push-rate', '0.05'], '--push-rate is "0.05"; it must be a number from 0.1 to 100000'],
  [['--push-rate', '1e3'], '--push-rate is "1e3"; it must be a number from 0.1 to 100000'],
  [['--edges', '65'], '--edges is "65"; it must be a whole number from 1 to 64'],
  [
    ['--roles', 'intake,egde'],
    '--roles is "intake,egde"; it must be one or more of intake, projector, edge, console, icecast, legacy',
  ],
  [
    ['--roles', ''],
    '--roles is ""; it must be one or more of intake, projector, edge, console, icecast, legacy',
  ],
  [
    ['--legacy-sunset', '2027-02-29'],
    '--legacy-sunset is "2027-02-29"; it must be a day, such as 2027-06-30',
  ],
  [['--log-level', 'loud'], '--log-level is "loud"; it must be one of debug, info, warn, error, silent'],
  [
    ['--nats-url', 'http://user:secret@h'],
    '--nats-url has a wrong form; it must be an address that begins with nats:// or tls://',
  ],
  [
    ['--admin-token', 'fifteen-chars-0'],
    '--admin-token has a wrong form; it must be printable ASCII without blanks, at least 16 characters',
  ],
  [
    ['--admin-token', 'with a blank inside'],
    '--admin-token has a wrong form; it must be printable ASCII without blanks, at least 16 characters',
  ],
  [['--edge-port'], '--edge-port needs a value: a port, 0 to 65535 (0 takes a free one)'],
  [['--host', '--edge-port', '1'], '--host needs a value: a text'],
  [['--edge-prot', '1'], 'unknown flag --edge-prot (did you mean --edge-port?); see --help'],
  [['--something-else'], 'unknown flag --something-else; see --help'],
  [['-p', '1'], 'unknown flag -p; what begins with - and is no flag goes behind --; see --help'],
  [['--console-url', 'http://x'], 'unknown flag --console-url; see --help'],
  [['edge'], 'serve takes flags only, not "edge"; see --help'],
  [
    ['--tls-cert', 'c.pem'],
    'TLS needs both --tls-cert and --tls-key (NOWNEXT_TLS_CERT and NOWNEXT_TLS_KEY), or neither',
  ],
]
for (const [argv, message] of bad)
  test(`refused: ${argv.join(' ')}`, () =>
    assert.throws(() => parseConfig(argv, {}), { name: 'StartError', message }))

test('the command line finds the service where its own variables say that it listens', () => {
  const addresses = (env: Record<string, string>, argv: string[] = []) => {
    const { baseUrl, apiUrl, consoleUrl } = parseCommandLine(argv, env, 'client').config
    return [baseUrl, apiUrl, consoleUrl]
  }
  const at = (...ports: number[]) => ports.map(port => `http://127.0.0.1:${port}`)
  assert.deepEqual(addresses({}), at(8100, 8200, 8300))
  assert.deepEqual(addresses({ NOWNEXT_EDGE_PORT: '9200', NOWNEXT_HOST: '0.0.0.0' }), at(8100, 9200, 8300))
  assert.deepEqual(addresses({ NOWNEXT_EDGE_PORT: '0' }), at(8100, 8200, 8300), 'a free one is not known')
  assert.deepEqual(
    addresses({ NOWNEXT_EDGE_PORT: '9200', NOWNEXT_API_URL: 'http://e' }, ['--console-url', 'http://c']),
    ['http://127.0.0.1:8100', 'http://e', 'http://c'],
  )
  const tls = { NOWNEXT_TLS_CERT: 'c', NOWNEXT_TLS_KEY: 'k', NOWNEXT_HOST: '::1' }
  assert.equal(addresses(tls)[0], 'https://[::1]:8100')
})

test('a wrong variable is named', () => {
  assert.throws(() => parseConfig([], { NOWNEXT_OPS_PORT: 'x' }), {
    message: 'NOWNEXT_OPS_PORT is "x"; it must be a port, 0 to 65535 (0 takes a free one)',
  })
})

test('an unknown variable is refused, with the one that is meant where that is clear', () => {
  const refused = (name: string, message: string) =>
    assert.throws(() => parseConfig([], { [name]: '1' }), { name: 'StartError', message })
  refused(
    'NOWNEXT_INTAKE_PROT',
    'unknown variable NOWNEXT_INTAKE_PROT (did you mean NOWNEXT_INTAKE_PORT?); see nownext serve --help',
  )
  refused('NOWNEXT_ELSE', 'unknown variable NOWNEXT_ELSE; see nownext serve --help')
  assert.equal(parseConfig([], { OTHER_EDGE_PROT: '1' }).edgePort, 8200)
})

test("a command's own flags are read beside the options", () => {
  const own = [
    { flag: 'name', type: 'string', description: '' },
    { flag: 'json', type: 'boolean', description: '' },
  ] as const
  const argv = ['key', '--json', '--name=', '--console-url', 'http://c/']
  const { config, flags, positionals } = parseCommandLine(argv, {}, 'client', own)
  assert.equal(config.consoleUrl, 'http://c', 'without the last slash')
  assert.deepEqual(
    [...flags],
    [
      ['json', true],
      ['name', ''],
    ],
  )
  assert.deepEqual(positionals, ['key'])
  assert.throws(() => parseCommandLine(['--json=1'], {}, 'client', own), { message: '--json takes no value' })
})

test('every option is a row of the table in the README', () => {
  const rows = optionsTable().split('\n').slice(2)
  const names = Object.values(options).map(environmentName)
  assert.deepEqual(
    rows.map(row => row.split('`')[1]),
    names,
  )
  for (const row of rows) assert.equal(row.split(' | ').length, 4, row)
})
