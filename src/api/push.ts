// The shapes of a push over HTTP (spec 2.1, 2.2, 4.1, 4.2).
import { type Static, Type } from 'typebox'

/** Body of a push, in bytes (rule 9). */
export const maxPushBodyBytes = 64 * 1024

/** Both may hold anything here: a key of a wrong form is an unknown channel (404), such a token a wrong one (403). */
export const PushParams = Type.Object({
  channelkey: Type.String({ description: 'Key of the stream' }),
  token: Type.String({ description: "One of the channel's push tokens" }),
})

/** The path without token: it is in `Authorization: Bearer` (rule 3). */
export const BearerPushParams = Type.Pick(PushParams, ['channelkey'])

const MandatoryText = Type.Union([Type.String(), Type.Null()])

/**
 * What a JSON body must bring, however it fills it: the decoder repairs or refuses the values of all fields one by
 * one (rules 5 to 9). Fields that are not named here are ignored.
 */
export const PushBody = Type.Object({
  song: MandatoryText,
  artist: MandatoryText,
  duration: Type.Union([Type.Number(), Type.String(), Type.Null()], { description: 'Seconds; 0 is unknown' }),
  id: Type.Optional(Type.Unknown({ description: 'Unique id of the element; generated when empty' })),
  time: Type.Optional(Type.Unknown({ description: 'RFC 3339 or unix seconds; now when empty' })),
  cover: Type.Optional(Type.Unknown({ description: 'An http or https address' })),
  images: Type.Optional(Type.Unknown({ description: '{small, medium, large}, each {url}' })),
  album: Type.Optional(Type.Unknown()),
  separator: Type.Optional(Type.Unknown({ description: 'Between artist and song; default " - "' })),
  timezone: Type.Optional(Type.Unknown({ description: 'IANA name or offset of a time without one' })),
  etype: Type.Optional(Type.Unknown({ description: 'Content type, spec 2.3' })),
  tracktype: Type.Optional(Type.Unknown({ description: 'now (default) or next' })),
  isrc: Type.Optional(Type.Unknown()),
  extdata: Type.Optional(Type.Unknown({ description: 'An object, passed on untouched' })),
  externalid: Type.Optional(Type.Unknown({ description: 'An object or a string' })),
})
export type PushBody = Static<typeof PushBody>

/** The answer to a stored push (spec 2.2, rule 2). */
export const PushResponse = Type.Object({
  time: Type.String({ description: 'Start, RFC 3339 in UTC' }),
  start: Type.String({ description: 'The same as DD.MM.YYYY HH:MM:SS in `timezone`' }),
  start_timestamp: Type.Integer({ description: 'The same in unix seconds' }),
  duration: Type.Integer({ description: 'Seconds' }),
  song: Type.String(),
  artist: Type.String(),
  code: Type.String({ description: 'The channelkey' }),
  channelkey: Type.String(),
  timezone: Type.String({ description: 'IANA name' }),
  channel: Type.String({ description: 'The channelkey' }),
  id: Type.String({ description: 'As given, else generated' }),
  userplayout: Type.Boolean({ description: 'true for a push for one listener' }),
  separator: Type.String(),
  etype: Type.Integer(),
  album: Type.String(),
  type: Type.Enum(['now', 'next']),
  isrc: Type.String(),
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'What was repaired or ignored (rule 1)' }),
  ),
})
export type PushResponse = Static<typeof PushResponse>
