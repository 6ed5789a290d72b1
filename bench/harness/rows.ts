// What a scenario found: figures against what is asked of them.

export type Row = {
  what: string
  /** The figure as asked, in words; empty where nothing is asked and it is told for its own sake. */
  asked: string
  reached: string
  /** undefined where nothing is asked. */
  holds?: boolean
  /** What it was made from. */
  from: string
}

export type Scenario = {
  readonly name: string
  readonly title: string
  /** What is measured and against what, for the page. */
  readonly about: string
  run(report: (row: Row) => void): Promise<void>
}

/** A figure that must not pass a limit. */
export function atMost(what: string, value: number, limit: number, from: string, unit = '×'): Row {
  return {
    what,
    asked: `≤ ${figure(limit)} ${unit}`,
    reached: `${figure(value)} ${unit}`,
    holds: value <= limit,
    from,
  }
}

export function atLeast(what: string, value: number, limit: number, from: string, unit = '×'): Row {
  return {
    what,
    asked: `≥ ${figure(limit)} ${unit}`,
    reached: `${figure(value)} ${unit}`,
    holds: value >= limit,
    from,
  }
}

export function told(what: string, reached: string, from = ''): Row {
  return { what, asked: '', reached, from }
}

/** Three digits that count. */
export function figure(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) >= 100) return value.toLocaleString('en')
  const size = Math.abs(value)
  return size >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(size >= 10 ? 1 : 2)
}
