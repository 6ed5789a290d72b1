// One look at an HTTP address.

const limitMs = 2_000

/** The status, 0 for no answer within 2 s, and the body. */
export async function ask(url: string): Promise<{ status: number; body: string }> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(limitMs) })
    return { status: answer.status, body: await answer.text() }
  } catch (error) {
    if (error instanceof Error) return { status: 0, body: error.message }
    throw error
  }
}
