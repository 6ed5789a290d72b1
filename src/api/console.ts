// The shapes of the console's API: what an operator sends, and what comes back.
import { type Static, Type } from 'typebox'
import { isKey, isToken } from '../domain/keys.ts'
import { defaultHoldSeconds, maxHoldSeconds } from '../domain/registry.ts'
import { isTimezone } from '../domain/zone.ts'

/** Body of any request of the console's API, in bytes. */
export const maxConsoleBodyBytes = 64 * 1024

/** Names and texts that an operator sets; the same limit as a pushed text (rule 5). In characters. */
export const maxNameLength = 1024
export const maxLabelLength = 128
const maxFallbackSeconds = 86_400

const strict = { additionalProperties: false }

/** What a text must be, by the name of its format; the message completes "<field> must be …". */
export const consoleFormats = {
  key: { test: isKey, message: '1 to 64 of A-Z, a-z, 0-9, _ and -' },
  'plain-text': { test: isPlainText, message: 'text without control characters' },
  timezone: { test: isTimezone, message: 'an IANA time zone such as Europe/Berlin' },
  'http-address': { test: isHttpAddress, message: 'an http or https address' },
  'http-address-or-empty': {
    test: (value: string) => value === '' || isHttpAddress(value),
    message: 'an http or https address, or empty',
  },
  'push-token': { test: isToken, message: '16 to 128 characters that need no escape in a path' },
} as const

const text = (maxLength: number, description: string) =>
  Type.String({ maxLength, format: 'plain-text', description })

/** A channelkey or a stationkey (Keys). */
const Key = Type.String({ format: 'key' })

const Timezone = Type.Union([Type.String({ format: 'timezone' }), Type.Null()], {
  description: 'IANA name such as Europe/Berlin; null or left out: that of the station, else UTC',
})

const Name = text(maxNameLength, 'Display name; empty shows the key')

export const KeyParams = Type.Object({ key: Key })
export const TokenParams = Type.Object({ key: Key, id: Type.String({ maxLength: 64 }) })
export const ChannelQuery = Type.Object({ station: Type.Optional(Key) })

/** `key` may be sent along, so that what was read can be changed and put back; it must be that of the path. */
export const StationBody = Type.Object(
  { key: Type.Optional(Key), name: Name, timezone: Type.Optional(Timezone) },
  strict,
)
export type StationBody = Static<typeof StationBody>

export const FallbackBody = Type.Object(
  {
    song: text(maxNameLength, 'Song of the record that takes the place of one that has run out'),
    artist: text(maxNameLength, 'Artist of that record'),
    afterSeconds: Type.Integer({
      minimum: 0,
      maximum: maxFallbackSeconds,
      description: 'Seconds past the end of a play whose duration is known',
    }),
    unknownAfterSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxFallbackSeconds,
        description: 'Seconds after the arrival of a play whose duration is not known; left out: never',
      }),
    ),
  },
  strict,
)

/** An Icecast mount that shows the title in its stream (rule 31). */
const MountBody = Type.Object(
  {
    url: Type.String({ format: 'http-address' }),
    mount: Type.String({ pattern: '^/' }),
    user: Type.String(),
    password: Type.Optional(Type.String()),
    charset: Type.Optional(Type.String()),
  },
  strict,
)

export const ChannelBody = Type.Object(
  {
    key: Type.Optional(Key),
    station: Key,
    name: Name,
    timezone: Type.Optional(Timezone),
    cover: Type.Optional(
      Type.String({
        maxLength: 2048,
        format: 'http-address-or-empty',
        description: 'Default cover: an http or https address, or empty',
      }),
    ),
    holdSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxHoldSeconds,
        default: defaultHoldSeconds,
        description: 'How far ahead a push may lie to be held until its start (rule 15)',
      }),
    ),
    fallback: Type.Optional(Type.Union([FallbackBody, Type.Null()])),
    announceNext: Type.Optional(
      Type.Boolean({ default: true, description: 'false: the following track is not delivered (rule 16)' }),
    ),
    history: Type.Optional(
      Type.Enum(['recent', 'public', 'off'], {
        default: 'recent',
        description: 'How much of the history players may read (rule 27)',
      }),
    ),
    mounts: Type.Optional(Type.Array(MountBody, { maxItems: 32 })),
  },
  strict,
)
export type ChannelBody = Static<typeof ChannelBody>

export const TokenBody = Type.Object(
  {
    label: Type.Optional(text(maxLabelLength, 'What the token is for')),
    token: Type.Optional(
      Type.String({
        format: 'push-token',
        description: 'An old token to go on with: 16 to 128 characters that need no escape in a path',
      }),
    ),
  },
  strict,
)
export type TokenBody = Static<typeof TokenBody>

export const StationAnswer = Type.Object({
  key: Type.String(),
  name: Type.String(),
  timezone: Type.Union([Type.String(), Type.Null()]),
})
export type StationAnswer = Static<typeof StationAnswer>

const FallbackAnswer = Type.Object({
  song: Type.String(),
  artist: Type.String(),
  afterSeconds: Type.Integer(),
  unknownAfterSeconds: Type.Optional(Type.Integer()),
})

export const ChannelAnswer = Type.Object({
  key: Type.String(),
  station: Type.String(),
  name: Type.String(),
  timezone: Type.Union([Type.String(), Type.Null()]),
  cover: Type.String(),
  holdSeconds: Type.Integer(),
  fallback: Type.Union([FallbackAnswer, Type.Null()]),
  announceNext: Type.Boolean(),
  history: Type.Enum(['recent', 'public', 'off']),
  mounts: Type.Array(Type.Object({ url: Type.String(), mount: Type.String(), user: Type.String() })),
  token: Type.Optional(
    Type.String({ description: 'A push token; only in the answer that created the channel' }),
  ),
})
export type ChannelAnswer = Static<typeof ChannelAnswer>

export const TokenAnswer = Type.Object({
  id: Type.String(),
  label: Type.String(),
  createdAt: Type.String({ description: 'RFC 3339 in UTC' }),
})
export type TokenAnswer = Static<typeof TokenAnswer>

/** The answer that creates a token is the only one that ever holds it. */
export const NewTokenAnswer = Type.Object({ id: Type.String(), label: Type.String(), token: Type.String() })
export type NewTokenAnswer = Static<typeof NewTokenAnswer>

/** No control character, and well-formed Unicode, so that it can stand in a record. */
function isPlainText(value: string): boolean {
  return !/[\p{Cc}\p{Cs}]/u.test(value)
}

/** What a player may fetch as a picture. */
function isHttpAddress(value: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(value) && URL.canParse(value)
}
