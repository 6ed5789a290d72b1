// Requests of the command line, and their errors as one clear line.
import type { ProblemDetails } from '../api/errors.ts'
import { readAdminToken } from '../config/admin-token.ts'
import type { Config } from '../config/options.ts'
import { StartError } from '../observe/service.ts'
import { type ServiceName, unreachable } from './reach.ts'

export type Request = { method: string; url: string; token: string; body?: unknown }

// biome-ignore lint/suspicious/noExplicitAny: the shapes are those of src/api/console.ts; the service checked them
export type Answer = { status: number; body: any }

const timeoutMs = 15_000

/** Sends a request; `who` names the one asked, as in "the console". Throws a StartError where it cannot be reached; answers with an error status are answers. */
export async function send(who: ServiceName, { method, url, token, body }: Request): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  }).catch(error => {
    throw unreachable(who, url, error)
  })
  const text = await response.text()
  if (text === '') return { status: response.status, body: undefined }
  try {
    return { status: response.status, body: JSON.parse(text) }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new StartError(
      `what answers at ${new URL(url).origin} is not ${who} of nownext (${response.status})`,
    )
  }
}

/** The body of an answer. Throws a StartError for an error status, with the problem's reasons. */
export function requireSuccess(who: ServiceName, { status, body }: Answer): Answer['body'] {
  if (status < 400) return body
  const { title, detail, errors } = body as Partial<ProblemDetails>
  if (title === undefined) throw new StartError(`${who} answers ${status}`)
  const fields = errors?.map(({ field, message }) => `${field} ${message}`)
  throw new StartError(`${title}: ${fields?.join('; ') ?? detail}`)
}

/** The console's API as the command line uses it. */
export class ConsoleApi {
  readonly #url: string
  readonly #token: string

  /** Throws a StartError where there is no admin token. */
  constructor(config: Pick<Config, 'consoleUrl' | 'adminToken' | 'data'>) {
    const token = config.adminToken ?? readAdminToken(config.data)
    if (token === undefined)
      throw new StartError(
        `no admin token: set NOWNEXT_ADMIN_TOKEN, or --data to the service's data folder (${config.data} has none)`,
      )
    this.#url = config.consoleUrl
    this.#token = token
  }

  /** `path` below /api. Throws a StartError where it does not succeed. */
  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.#send(method, path, body)
    requireSuccess('the console', answer)
    return answer
  }

  /** The body, or undefined where there is nothing at that path. */
  async find(path: string): Promise<Answer['body'] | undefined> {
    const answer = await this.#send('GET', path)
    return answer.status === 404 ? undefined : requireSuccess('the console', answer)
  }

  /**
   * Makes what is at that path, or changes the fields that `changes` makes of what is known of it; the rest stays.
   * A name that was never given is empty, and shows the key.
   */
  async change(path: string, changes: (known: Answer['body'] | undefined) => object): Promise<Answer> {
    const known = await this.find(path)
    return await this.ask('PUT', path, { name: '', ...known, ...changes(known) })
  }

  async #send(method: string, path: string, body?: unknown): Promise<Answer> {
    const url = `${this.#url}/api${path}`
    const answer = await send('the console', { method, url, token: this.#token, body })
    if (answer.status === 401)
      throw new StartError(`the console at ${this.#url} refuses the admin token; check NOWNEXT_ADMIN_TOKEN`)
    return answer
  }
}
