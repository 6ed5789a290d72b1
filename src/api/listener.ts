// The shapes of listener sessions over HTTP (spec 4.5, rule 28).
import { Type } from 'typebox'
import { PushParams } from './push.ts'

export const SessionParams = Type.Intersect([
  PushParams,
  Type.Object({ metaid: Type.String({ description: 'The listener, as the player named it' }) }),
])

/** What a stream server may say of a session; unknown fields are ignored, numbers are taken as texts. */
export const SessionBody = Type.Object({
  client: Type.Optional(
    Type.Unknown({ description: "The listener's name on the stream server; tells two sessions apart" }),
  ),
  session: Type.Optional(Type.Unknown({ description: 'As the records are to name it; default: the client' })),
  mount: Type.Optional(Type.Unknown({ description: 'What is listened to; a query is cut off' })),
})
