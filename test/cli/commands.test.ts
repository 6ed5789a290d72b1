// The command line against a running service, as an operator uses it.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { runCommand } from '../../src/cli/run.ts'
import { runProgram, startService, type TestService } from '../helpers/service.ts'

const folder = mkdtempSync(join(tmpdir(), 'nownext-cli-'))
const oldToken = 'an-old-token-of-16-or-more'
let service: TestService
let env: Record<string, string>
let out = ''
let err = ''

before(async () => {
  service = await startService({ roles: 'intake,projector,edge,console' })
  env = {
    NOWNEXT_BASE_URL: service.baseUrl,
    NOWNEXT_API_URL: service.apiUrl,
    NOWNEXT_CONSOLE_URL: service.consoleUrl,
    NOWNEXT_ADMIN_TOKEN: service.adminToken,
    NOWNEXT_DATA: folder,
  }
})
after(async () => {
  await service?.stop()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  out = ''
  err = ''
})

async function run(
  argv: string[],
  options: { tty?: boolean; env?: Record<string, string> } = {},
): Promise<string> {
  out = ''
  const write = (text: string) => {
    out += text
  }
  await runCommand(argv, {
    env: { ...env, ...options.env },
    out: { write, isTTY: options.tty ?? false },
    err: {
      write: (text: string) => {
        err += text
      },
    },
  })
  return out
}

async function fails(
  argv: string[],
  message: string | RegExp,
  more: Record<string, string> = {},
): Promise<void> {
  await assert.rejects(run(argv, { env: more }), { name: 'StartError', message })
}

function lastTokenFile(channelkey: string): string {
  const path = /written to (.+)$/m.exec(out)?.[1] ?? ''
  assert.ok(path.startsWith(join(folder, 'tokens', `${channelkey}.`)), out)
  return path
}

test('station set, list, rm', async () => {
  assert.equal(await run(['station', 'set', 's1', '--name', 'One']), 'station s1 created\n')
  assert.equal(await run(['station', 'set', 's1', '--timezone', 'Europe/Rome']), 'station s1 set\n')
  assert.match(await run(['station', 'list']), /^STATION +NAME +TIMEZONE\n(.*\n)*s1 +One +Europe\/Rome\n/)
  const listed = JSON.parse(await run(['station', 'list', '--json']))
  assert.deepEqual(
    listed.find((s: { key: string }) => s.key === 's1'),
    { key: 's1', name: 'One', timezone: 'Europe/Rome' },
  )
  await run(['station', 'set', 's1', '--timezone', ''])
  assert.equal((await service.admin('GET', '/stations/s1')).body.timezone, null)
  assert.equal(await run(['station', 'rm', 's1']), 'station s1 deleted\n')
  await fails(['station', 'rm', 's1'], /^Unknown station: /)
})

test('channel set changes what is given and leaves the rest', async () => {
  await run(['station', 'set', 's2'])
  await run([
    'channel',
    'set',
    'c2',
    '--station',
    's2',
    '--name',
    'Two',
    '--cover',
    'https://example.org/2.png',
  ])
  await run(['channel', 'set', 'c2', '--hold-seconds', '600', '--announce-next', 'false', '--history', 'off'])
  await run(['channel', 'set', 'c2', '--fallback-song', 'Two FM', '--fallback-after', '5'])
  const { body } = await service.admin('GET', '/channels/c2')
  assert.deepEqual(body, {
    key: 'c2',
    station: 's2',
    name: 'Two',
    timezone: null,
    cover: 'https://example.org/2.png',
    holdSeconds: 600,
    fallback: { song: 'Two FM', artist: '', afterSeconds: 5 },
    announceNext: false,
    history: 'off',
    mounts: [],
  })
  await run(['channel', 'set', 'c2', '--fallback-after', '7'])
  assert.equal((await service.admin('GET', '/channels/c2')).body.fallback.afterSeconds, 7)
  await run(['channel', 'set', 'c2', '--no-fallback'])
  assert.equal((await service.admin('GET', '/channels/c2')).body.fallback, null)
  await fails(['channel', 'set', 'c2', '--fallback-after', '5'], /^a fallback needs a text: --fallback-song/)
  await fails(['channel', 'set', 'c2', '--fallback-song', 'F'], 'a fallback needs --fallback-after')
  assert.equal(JSON.parse(await run(['channel', 'list', '--station', 's2', '--json'])).length, 1)
  assert.match(await run(['channel', 'list', '--station', 's2']), /^c2 +s2 +Two +\(station\)$/m)
  assert.equal(await run(['channel', 'list', '--station', 'nobody']), 'no channels\n')
  await fails(['station', 'rm', 's2'], /^Conflict: /)
  assert.equal(await run(['channel', 'rm', 'c2']), 'channel c2 deleted\n')
  await run(['station', 'rm', 's2'])
})

test('a secret is printed to a terminal, else it goes into a file of the owner', async () => {
  await run(['station', 'set', 's3'])
  await run(['channel', 'set', 'c3', '--station', 's3'])
  const file = lastTokenFile('c3')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const token = readFileSync(file, 'utf8').trim()
  assert.ok(!out.includes(token))
  assert.match(await run(['push', 'c3', '--token-file', file, '--song', 'S']), /^now: S, start .* UTC, id /)

  await run(['token', 'add', 'c3', '--label', 'studio'], { tty: true })
  const shown = /shown only now\): (\S+)$/m.exec(out)?.[1] ?? ''
  assert.match(await run(['push', 'c3', shown, '--artist', 'A', '--song', 'S']), /^now: A - S, /)
})

test('token add, list, revoke', async () => {
  await run(['station', 'set', 's4'])
  await run(['channel', 'set', 'c4', '--station', 's4'])
  const file = join(folder, 'old-token')
  writeFileSync(file, `${oldToken}\n`)
  assert.match(
    await run(['token', 'add', 'c4', '--label', 'old', '--token-file', file]),
    /^token \w+ added to c4\n$/,
  )
  await run(['push', 'c4', oldToken, '--empty'])
  const list: Array<{ id: string; label: string }> = JSON.parse(await run(['token', 'list', 'c4', '--json']))
  assert.deepEqual(list.map(token => token.label).sort(), ['first', 'old'])
  assert.ok(!out.includes(oldToken))
  const { id = '' } = list.find(token => token.label === 'old') ?? {}
  assert.match(await run(['token', 'list', 'c4']), new RegExp(`^${id} .* old$`, 'm'))
  assert.equal(await run(['token', 'revoke', 'c4', id]), `token ${id} of c4 revoked\n`)
  await fails(['token', 'revoke', 'c4', id], /^Unknown token id: /)
  await fails(['push', 'c4', oldToken, '--song', 'S'], /^Wrong push token: /)
})

test('push sends the fields as typed, warns, and prints JSON when asked', async () => {
  await run(['station', 'set', 's5', '--timezone', 'Europe/Berlin'])
  await run(['channel', 'set', 'c5', '--station', 's5'], { tty: true })
  const token = /shown only now\): (\S+)$/m.exec(out)?.[1] ?? ''
  const argv = ['push', 'c5', token, '--json', '--song', 'Jóga & +', '--duration', '3:45', '--etype', 'News']
  const pushed = JSON.parse(await run([...argv, '--time', '0']))
  assert.deepEqual([pushed.song, pushed.duration, pushed.etype], ['Jóga & +', 225, 104])
  assert.match(err, /^warning: /)
  await fails(['push', 'c5', token, '--song', 'S', '--duration', 'long'], /^Invalid request: .*duration/)
  await fails(['push', 'c5'], /needs the token.*--token-file/)
  await fails(['push', 'nobody', token, '--song', 'S'], /^Unknown channel: /)
  await fails(
    ['push', 'c5', token, '--song', ''],
    'push needs --song or --artist; --empty pushes that nothing is playing',
  )
  await fails(['push', 'c5', token, '--song', 'S', '--empty'], '--empty goes without --song and --artist')
  assert.match(await run(['push', 'c5', token, '--empty']), /^now: \(no text\), /)
  await fails(['push', 'c5', '-sROE'], /^unknown flag -s; .* goes behind --/)
  await fails(['push', '--song', 'S', '--', 'c5', '-sROE'], /^Wrong push token: /)
})

const plan = `
stations:
  s6: { name: Six, timezone: Europe/Berlin }
channels:
  c6:
    station: s6
    name: Six One
    tokens:
      - token: ${oldToken}
        label: encoder
  c6_plain: { station: s6 }
`

test('apply makes what the file says, brings old tokens, and may be repeated', async () => {
  const file = join(folder, 'plan.yaml')
  writeFileSync(file, plan)
  await run(['apply', file])
  assert.match(
    out,
    /^station s6 created\nchannel c6 created\nchannel c6: token "encoder" of the file is there\nchannel c6_plain/,
  )
  assert.ok(!out.includes(oldToken))
  lastTokenFile('c6_plain')
  const files = readdirSync(join(folder, 'tokens')).length
  await run(['apply', file])
  assert.ok(!out.includes('created') && !out.includes('written'))
  assert.equal(readdirSync(join(folder, 'tokens')).length, files)
  const tokens = (await service.admin('GET', '/channels/c6/tokens')).body
  assert.deepEqual(
    tokens.map((token: { label: string }) => token.label),
    ['encoder'],
    'a channel that brings its tokens has no other',
  )
  await run(['push', 'c6', oldToken, '--song', 'S'])
})

test('apply leaves as it is what the file does not name, other tokens too', async () => {
  const file = join(folder, 'part.yaml')
  await run(['station', 'set', 's7', '--name', 'Seven', '--timezone', 'Europe/Rome'])
  const options = ['--name', 'Old', '--hold-seconds', '60', '--fallback-song', 'F', '--fallback-after', '5']
  await run(['channel', 'set', 'c7', '--station', 's7', ...options])
  await run(['token', 'add', 'c7'])
  const { body: before } = await service.admin('GET', '/channels/c7')
  writeFileSync(file, `stations: { s7: }\nchannels: { c7: { name: New, tokens: [{ token: ${oldToken}7 }] } }`)
  await run(['apply', file])
  assert.equal(
    out,
    'station s7 set\nchannel c7 set\nchannel c7: token 1 of the file is there\nchannel c7: 2 other token(s) stay\n',
  )
  assert.deepEqual((await service.admin('GET', '/channels/c7')).body, { ...before, name: 'New' })
  const { name, timezone } = (await service.admin('GET', '/stations/s7')).body
  assert.deepEqual([name, timezone], ['Seven', 'Europe/Rome'])
  assert.equal((await service.admin('GET', '/channels/c7/tokens')).body.length, 3)
  const shown = /^ {2}stations:\n.*?(?=\n\n)/ms.exec(await run(['apply', '--help']))?.[0] ?? ''
  writeFileSync(file, shown)
  await run(['apply', file])
  assert.match(out, /^channel my_channel: token "studio" of the file is there$/m)
})

const badPlans: Array<[text: string, message: RegExp]> = [
  ['chanels: {}', /chanels is not known/],
  ['- a list', /must be a mapping/],
  ['channels: [a]', /channels must be a mapping/],
  ['channels:\n  x: 1', /channels\.x must be a mapping/],
  ['channels:\n  x: {}\n  x: {}', /unique/],
  ['channels: {', /plan|:/],
  ['channels: { x: { station: s6, tokens: one } }', /tokens must be a list/],
  ['channels: { x: { station: s6, tokens: [{ tokn: y }] } }', /must have a token/],
  ['channels: { x: { station: nobody } }', /^channel x: Unknown station: /],
  ['channels: { x: { station: s6, nmae: y } }', /^channel x: Invalid request: nmae is not a known field/],
  ['stations: { x: { timezone: Rome } }', /^station x: Invalid request: timezone must be an IANA/],
]
for (const [text, message] of badPlans) {
  test(`apply refuses ${JSON.stringify(text)}`, async () => {
    const file = join(folder, 'bad.yaml')
    writeFileSync(file, text)
    await fails(['apply', file], message)
  })
}

test('what is wrong is said in one line', async () => {
  await fails(['station', 'list'], /refuses the admin token/, { NOWNEXT_ADMIN_TOKEN: 'a-wrong-admin-token' })
  await fails(['station', 'list'], /^no admin token: /, { NOWNEXT_ADMIN_TOKEN: '' })
  const nobody = { NOWNEXT_CONSOLE_URL: 'http://127.0.0.1:9999', NOWNEXT_BASE_URL: 'http://127.0.0.1:9999' }
  await fails(
    ['station', 'list'],
    'the console at http://127.0.0.1:9999 cannot be reached: nothing listens there; --console-url or NOWNEXT_CONSOLE_URL sets the address',
    nobody,
  )
  await fails(['push', 'c', 'a-token', '--song', 'S'], /^the push service at .* cannot be reached/, nobody)
  await fails(['station', 'list'], /is not the console of nownext \(404\)/, {
    NOWNEXT_CONSOLE_URL: service.opsUrl,
  })
  await fails(['watch', 'nobody'], 'no such channel: nobody')
  await fails(['apply', join(folder, 'nothing')], /cannot be read: ENOENT/)
  await fails(['token', 'add', 'c', '--token-file', join(folder, 'nothing')], /cannot be read: ENOENT/)
  await fails(['chanel', 'list'], 'unknown command chanel (did you mean channel?); see nownext --help')
  await fails(['channel', 'make'], 'channel takes one of set, list, rm')
  await fails(['channel', 'set'], 'usage: nownext channel set <channelkey>; see --help')
  await fails(['channel', 'set', 'a', 'b'], /^usage: /)
  await fails(['channel', 'set', 'a', '--hold-seconds', '601'], /from 0 to 600/)
  await fails([], 'no command given; see nownext --help')
})

test('--help and --version need no service', async () => {
  assert.match(await run(['--help']), /^Now\/next metadata/)
  assert.match(await run(['serve', '--help']), /--intake-port/)
  assert.match(await run(['token', 'add', '--help']), /^Usage: nownext token add <channelkey> \[flags\]$/m)
  assert.match(await run(['--version']), /^\d+\.\d+\.\d+\n$/)
})

test('the program prints errors on standard error and exits with 1', async () => {
  const ended = await runProgram(['channel', 'list'], {
    ...env,
    NOWNEXT_CONSOLE_URL: 'http://127.0.0.1:9999',
  })
  assert.deepEqual([ended.status, ended.stdout], [1, ''])
  assert.equal(
    ended.stderr,
    'nownext: the console at http://127.0.0.1:9999 cannot be reached: nothing listens there; --console-url or NOWNEXT_CONSOLE_URL sets the address\n',
  )
  const listed = await runProgram(['channel', 'list', '--json'], env)
  assert.deepEqual([listed.status, listed.stderr], [0, ''])
  assert.ok(Array.isArray(JSON.parse(listed.stdout)))
})
