// How a rebuild is asked of the active projector: a request whose answer is a stream of messages.
import { createInbox, type Msg } from '@nats-io/transport-node'
import { type LogConnection, LogUnavailable, messageOf } from './connection.ts'

const subject = 'nownext.rebuild'
/** A projector that is at work says so at least this often. */
const reportEveryMs = 500
/** A projector may be taking over: so it is asked again until one answers. */
const askAgainMs = 1_000
const firstAnswerMs = 5_000
const silenceMs = 15_000

export type RebuildReport =
  | { type: 'progress'; events: number; of: number }
  /** `rewritten`: how many channels were written anew; `channelkeys`: the first of them. */
  | { type: 'done'; events: number; channels: number; rewritten: number; channelkeys: string[] }
  | { type: 'failed'; reason: string }

/** A rebuild under way, as the one who does it sees it. */
export type RunningRebuild = {
  progress(): { events: number; of: number }
  result: Promise<{ events: number; channels: number; rewritten: string[] }>
}

const maxNamed = 20

/**
 * Answers those who ask for a rebuild. `begin` begins one, or returns undefined where another projector is the active
 * one; what it throws is the answer. Returns a function that ends it.
 */
export function answerRebuilds(
  connection: LogConnection,
  begin: () => RunningRebuild | undefined,
): () => void {
  const answering = new Set<string>()
  const subscription = connection.nc.subscribe(subject, {
    callback(error, message) {
      if (error !== null) {
        connection.log.warn({ error: error.message }, 'rebuilds can not be asked for')
        return
      }
      const asker = message.reply ?? ''
      // Who is not answered at once asks again, and may so ask twice.
      if (answering.has(asker)) return
      answering.add(asker)
      void answer(connection, message, begin).finally(() => answering.delete(asker))
    },
  })
  return () => {
    if (!connection.nc.isClosed()) subscription.unsubscribe()
  }
}

async function answer(
  connection: LogConnection,
  message: Msg,
  begin: () => RunningRebuild | undefined,
): Promise<void> {
  const say = (report: RebuildReport) => {
    if (!connection.nc.isClosed()) message.respond(JSON.stringify(report))
  }
  let timer: NodeJS.Timeout | undefined
  try {
    const running = begin()
    if (running === undefined) return
    const report = () => say({ type: 'progress', ...running.progress() })
    report()
    timer = setInterval(report, reportEveryMs)
    const { rewritten, ...counts } = await running.result
    const channelkeys = rewritten.slice(0, maxNamed)
    say({ type: 'done', ...counts, rewritten: rewritten.length, channelkeys })
  } catch (error) {
    say({ type: 'failed', reason: messageOf(error) })
  } finally {
    clearInterval(timer)
  }
}

/** Asks for one; resolves when it is done. Throws LogUnavailable where no active projector answers (any more). */
export async function askRebuild(
  { nc }: LogConnection,
  onProgress: (report: Extract<RebuildReport, { type: 'progress' }>) => void,
): Promise<Exclude<RebuildReport, { type: 'progress' }>> {
  return await new Promise((resolve, reject) => {
    const finish = (end: () => void) => {
      clearTimeout(timer)
      clearInterval(asking)
      subscription.unsubscribe()
      end()
    }
    const fail = (why: string) => finish(() => reject(new LogUnavailable(why)))
    let timer = setTimeout(() => fail('no active projector answers'), firstAnswerMs)
    const subscription = nc.subscribe(createInbox(), {
      callback(error, message) {
        if (error !== null) return fail(error.message)
        if (message.headers?.code === 503) return fail('no projector runs')
        const report: RebuildReport = message.json()
        clearInterval(asking)
        clearTimeout(timer)
        timer = setTimeout(() => fail('the projector has stopped answering; ask again'), silenceMs)
        if (report.type === 'progress') onProgress(report)
        else finish(() => resolve(report))
      },
    })
    const ask = () => nc.publish(subject, '', { reply: subscription.getSubject() })
    const asking = setInterval(ask, askAgainMs)
    ask()
  })
}
