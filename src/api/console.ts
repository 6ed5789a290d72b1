// The shapes of the console's API: what an operator sends, and what comes back.
import { type Static, Type } from 'typebox'
import { isKey, isToken } from '../domain/keys.ts'
import {
  defaultCharset,
  isMountPath,
  isMountUrl,
  isTitleCharset,
  maxMountsPerChannel,
  maxMountTextLength,
} from '../domain/mount.ts'
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
  'mount-url': { test: isMountUrl, message: 'an http or https address without user, query and hash' },
  'mount-path': { test: isMountPath, message: 'a path such as /live.mp3, without blanks, query and hash' },
  'mount-user': {
    test: (value: string) => isPlainText(value) && !value.includes(':'),
    message: 'text without colons and control characters',
  },
  charset: { test: isTitleCharset, message: 'UTF-8, none, or another charset such as ISO-8859-1' },
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
export const TokenParams = Type.Object({ key: Key, id: Type.String({ pattern: '^[0-9a-f]{1,64}$' }) })
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

const mountText = (format: string, description: string) =>
  Type.String({ minLength: 1, maxLength: maxMountTextLength, format, description })

/** How a mount fares. */
const MountStateAnswer = Type.Object({
  title: Type.Union([Type.String(), Type.Null()], { description: 'The last title that Icecast took' }),
  sentAt: Type.Union([Type.String(), Type.Null()], { description: 'RFC 3339 in UTC' }),
  error: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the newest title is not in the stream; null: it is, or there is none',
  }),
  errorSince: Type.Union([Type.String(), Type.Null()], { description: 'RFC 3339 in UTC' }),
})

/** An Icecast mount that shows the title in its stream (rule 31). */
const MountBody = Type.Object(
  {
    url: mountText('mount-url', 'Where Icecast is, for example http://127.0.0.1:8000'),
    mount: mountText('mount-path', 'The mount, with its slash'),
    user: mountText('mount-user', "The mount's user (Icecast's own default is source), or the admin"),
    password: Type.Optional(
      mountText('plain-text', 'Left out: that of the old mount of the same url and mount stays'),
    ),
    charset: Type.Optional(
      Type.String({
        maxLength: maxMountTextLength,
        format: 'charset',
        default: defaultCharset,
        description: 'Charset of the titles sent; none: UTF-8, and Icecast is not told so',
      }),
    ),
    state: Type.Optional(
      Type.Unknown({ description: 'Not looked at, so that what was read can be put back' }),
    ),
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
    mounts: Type.Optional(Type.Array(MountBody, { maxItems: maxMountsPerChannel })),
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

const MountAnswer = Type.Object({
  url: Type.String(),
  mount: Type.String(),
  user: Type.String(),
  charset: Type.String(),
  state: MountStateAnswer,
})
export type MountAnswer = Static<typeof MountAnswer>

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
  mounts: Type.Array(MountAnswer),
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
  return /^https?:\/\/[^\s]+$/i.test(value) && isPlainText(value) && URL.canParse(value)
}
