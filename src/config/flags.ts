// Flags as they are typed, and the check of one value. Used by the options of the service and by the command line.
import { parseArgs } from 'node:util'
import { StartError } from '../observe/service.ts'
import type { Flag } from './options.ts'
import { didYouMean } from './suggest.ts'

export type Value = string | number | boolean | string[]

export type GivenFlags = {
  /** Flag without dashes → its checked value. */
  values: Map<string, Value>
  positionals: string[]
}

/**
 * Reads the arguments of a command. Of a repeated flag the last counts.
 * Throws a StartError of one line on an unknown flag, a missing value, or a value that is not allowed.
 */
export function readFlags(argv: readonly string[], known: readonly Flag[]): GivenFlags {
  const byName = new Map(known.map(flag => [flag.flag, flag]))
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      known.map(({ flag, type }) => [flag, { type: type === 'boolean' ? 'boolean' : 'string' }] as const),
    ),
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const values = new Map<string, Value>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const flag = byName.get(token.name)
    if (flag === undefined) throw unknownFlag(token.rawName, known)
    values.set(flag.flag, valueOfToken(flag, token.value, token.inlineValue === true))
  }
  return { values, positionals }
}

function unknownFlag(name: string, known: readonly Flag[]): StartError {
  if (!name.startsWith('--'))
    return new StartError(
      `unknown flag ${name}; what begins with - and is no flag goes behind --; see --help`,
    )
  const names = known.map(({ flag }) => `--${flag}`)
  return new StartError(`unknown flag ${name}${didYouMean(name, names, '--')}; see --help`)
}

function valueOfToken(flag: Flag, text: string | undefined, inline: boolean): Value {
  const name = `--${flag.flag}`
  if (flag.type === 'boolean') {
    if (text !== undefined) throw new StartError(`${name} takes no value`)
    return true
  }
  const isFlag = !inline && /^--./.test(text ?? '')
  if (text === undefined || isFlag) throw new StartError(`${name} needs a value: ${allowed(flag)}`)
  return checkValue(flag, text, name)
}

/** The value of a text. Throws a StartError of one line that names the source and what is allowed. */
export function checkValue(flag: Flag, text: string, source: string): Value {
  const value = parseValue(flag, text)
  if (value !== undefined) return value
  const shown = flag.secret ? 'has a wrong form' : `is ${JSON.stringify(text)}`
  throw new StartError(`${source} ${shown}; it must be ${allowed(flag)}`)
}

function parseValue(flag: Flag, text: string): Value | undefined {
  const { type, min = 0, max = Number.POSITIVE_INFINITY, choices } = flag
  switch (type) {
    case 'port':
      return /^\d{1,5}$/.test(text) && Number(text) <= 65535 ? Number(text) : undefined
    case 'integer':
    case 'number': {
      const pattern = type === 'integer' ? /^-?\d{1,15}$/ : /^-?\d{1,15}(\.\d{1,9})?$/
      const number = Number(text)
      return pattern.test(text) && number >= min && number <= max ? number : undefined
    }
    case 'boolean':
      return text === 'true' || text === 'false' ? text === 'true' : undefined
    case 'list': {
      const items = text.split(',').map(item => item.trim())
      return items.every(item => item !== '' && (choices?.includes(item) ?? true))
        ? [...new Set(items)]
        : undefined
    }
    case 'url':
      return text.split(',').every(url => isUrl(url, flag.schemes)) ? text.replace(/\/+$/, '') : undefined
    case 'date':
      return isDate(text) ? text : undefined
    case 'path':
      return text !== '' && !text.includes('\0') ? text : undefined
    case 'string':
      if (choices !== undefined) return choices.includes(text) ? text : undefined
      if (flag.secret && !/^[\x21-\x7e]*$/.test(text)) return undefined
      return text.length >= min && text.length <= max ? text : undefined
  }
}

/** What a flag's value may be, in words. */
export function allowed(flag: Flag): string {
  const { type, min, max, choices } = flag
  switch (type) {
    case 'port':
      return 'a port, 0 to 65535 (0 takes a free one)'
    case 'integer':
    case 'number':
      return `${type === 'integer' ? 'a whole number' : 'a number'}${range(min, max)}`
    case 'boolean':
      return 'true or false'
    case 'list':
      return choices === undefined ? 'a list, separated by commas' : `one or more of ${choices.join(', ')}`
    case 'url':
      return `an address that begins with ${(flag.schemes ?? ['http', 'https']).map(s => `${s}://`).join(' or ')}`
    case 'date':
      return 'a day, such as 2027-06-30'
    case 'path':
      return 'a path'
    case 'string': {
      if (choices !== undefined) return `one of ${choices.join(', ')}`
      const length = [min && `at least ${min}`, max !== undefined && `at most ${max}`].filter(Boolean)
      const form = flag.secret ? 'printable ASCII without blanks' : 'a text'
      return length.length === 0 ? form : `${form}, ${length.join(' and ')} characters`
    }
  }
}

function range(min: number | undefined, max: number | undefined): string {
  if (max === undefined) return min === undefined ? '' : ` from ${min}`
  return ` from ${min ?? 0} to ${max}`
}

function isUrl(text: string, schemes: readonly string[] = ['http', 'https']): boolean {
  const scheme = /^([a-z]+):\/\/./.exec(text.trim())?.[1]
  return scheme !== undefined && schemes.includes(scheme) && URL.canParse(text.trim())
}

function isDate(text: string): boolean {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}
