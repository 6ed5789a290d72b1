// One line on a terminal that says how far a long command is: `export  [#####.....]  48 %  480,000 of 1,000,000  19,000/s`.

const width = 24
const everyMs = 100

export class Progress {
  readonly #out: { write(text: string): unknown; isTTY?: boolean }
  readonly #label: string
  readonly #startedMs = performance.now()
  #first: number | undefined
  #shownMs = Number.NEGATIVE_INFINITY

  constructor(out: { write(text: string): unknown; isTTY?: boolean }, label: string) {
    this.#out = out
    this.#label = label
  }

  update(done: number, of: number): void {
    this.#first ??= done
    const nowMs = performance.now()
    if (!this.#out.isTTY || nowMs - this.#shownMs < everyMs) return
    this.#shownMs = nowMs
    const perSecond = (done - this.#first) / Math.max(0.001, (nowMs - this.#startedMs) / 1000)
    this.#out.write(`\r\u001b[K${progressLine(this.#label, done, of, perSecond)}`)
  }

  /** Takes the line away. */
  end(): void {
    if (this.#out.isTTY && this.#first !== undefined) this.#out.write('\r\u001b[K')
    this.#first = undefined
  }
}

/** perSecond: how many are done in a second. */
export function progressLine(label: string, done: number, of: number, perSecond: number): string {
  const part = of <= 0 ? 1 : Math.min(1, Math.max(0, done / of))
  const full = Math.floor(part * width)
  const bar = '#'.repeat(full) + '.'.repeat(width - full)
  const percent = String(Math.floor(part * 100)).padStart(3)
  return `${label}  [${bar}] ${percent} %  ${count(done)} of ${count(of)}  ${count(perSecond)}/s`
}

/** 1234567 → 1,234,567 */
export function count(number: number): string {
  return Math.round(number).toLocaleString('en-US')
}
