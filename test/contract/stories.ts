// Pushes and what players are to see of them, whichever way they read (rules 13 to 17).

export type Step = {
  /** The query of a push by GET. */
  push: string
  /** The records that it sends, `type song` each; the empty `next` stands for none (rule 16). */
  sends: readonly string[]
}

export type Story = {
  name: string
  steps: readonly Step[]
  /** The plays of its history, oldest first, those that were never shown in brackets. */
  plays: readonly string[]
}

const played = 'artist=X&duration=180'
/** A fixed moment, so that a minute before it is a minute late. */
const now = Math.floor(Date.now() / 1_000)

export const stories: readonly Story[] = [
  {
    name: 'one play after the other',
    steps: [
      { push: `song=A&${played}`, sends: ['now A'] },
      { push: `song=B&${played}`, sends: ['now B'] },
      { push: `song=A&${played}`, sends: ['now A'] },
    ],
    plays: ['A', 'B', 'A'],
  },
  {
    name: 'a repeat is silent, a correction is sent again (rule 13)',
    steps: [
      { push: `song=A&${played}`, sends: ['now A'] },
      { push: `song=A&${played}`, sends: [] },
      { push: `song=A&${played}&album=Q`, sends: ['now A'] },
      { push: `song=A&${played}`, sends: [] },
    ],
    plays: ['A'],
  },
  {
    name: 'a late one is never shown (rule 14)',
    steps: [
      { push: `song=A&${played}&time=${now}`, sends: ['now A'] },
      { push: `song=B&${played}&time=${now - 60}`, sends: [] },
    ],
    plays: ['A', '(B)'],
  },
  {
    name: 'a next that becomes the now is empty first (rule 16)',
    steps: [
      { push: `song=A&${played}`, sends: ['now A'] },
      { push: `song=N&${played}&tracktype=next`, sends: ['next N'] },
      { push: `song=N&${played}`, sends: ['next ', 'now N'] },
    ],
    plays: ['A', 'N'],
  },
  {
    name: 'a next that is replaced, and one that is withdrawn (rule 16)',
    steps: [
      { push: `song=N&${played}&tracktype=next`, sends: ['next N'] },
      { push: `song=M&${played}&tracktype=next`, sends: ['next M'] },
      { push: 'tracktype=next', sends: ['next '] },
      { push: 'tracktype=next', sends: [] },
    ],
    plays: [],
  },
  {
    name: 'silence is a play like any other (rule 17)',
    steps: [
      { push: `song=A&${played}`, sends: ['now A'] },
      { push: '', sends: ['now '] },
      { push: `song=A&${played}`, sends: ['now A'] },
    ],
    plays: ['A', '', 'A'],
  },
  {
    name: 'text in any script, and what JSON and events escape',
    steps: [
      {
        push: `song=${encodeURIComponent('Grüße "¿" \\ 音楽 & <b>\u2028')}&${played}`,
        sends: ['now Grüße "¿" \\ 音楽 & <b>'],
      },
      { push: `song=data:+x%0Aid:+y&${played}`, sends: ['now data: x id: y'] },
    ],
    plays: ['Grüße "¿" \\ 音楽 & <b>', 'data: x id: y'],
  },
]
