// The table of options for people: --help and the README's table.
import { environmentName, type Flag, type Option, options } from './options.ts'

const indent = '  '
const width = 100

/** One entry per flag: its name and default, and below it the description and its variable. */
export function flagsHelp(flags: readonly Flag[]): string {
  return flags
    .map(flag => {
      const head = `${indent}--${flag.flag}${placeholder(flag)}`
      return `${head}\n${wrap(`${flag.description}${note(flag)}`, indent.repeat(4))}`
    })
    .join('\n')
}

/** The environment table of the README, in Markdown. */
export function optionsTable(): string {
  const rows = Object.values<Option>(options).map(option => {
    const { default: value } = option
    const shown = value === undefined ? '' : `\`${value}\`${option.unit ? ` ${option.unit}` : ''}`
    return `| \`${environmentName(option)}\` | \`--${option.flag}\` | ${shown} | ${option.description} |`
  })
  return ['| Variable | Flag | Default | What it sets |', '|---|---|---|---|', ...rows].join('\n')
}

function placeholder(flag: Flag): string {
  return flag.type === 'boolean' ? '' : ` <${flag.type === 'integer' ? 'number' : flag.type}>`
}

function note(flag: Flag): string {
  const notes: string[] = []
  if (isOption(flag)) {
    if (flag.default !== undefined) notes.push(`default ${flag.default}${flag.unit ? ` ${flag.unit}` : ''}`)
    else if (flag.unit) notes.push(`in ${flag.unit}`)
  }
  if (flag.choices) notes.push(`of ${flag.choices.join(', ')}`)
  if (flag.type === 'integer' || flag.type === 'number')
    notes.push(`${flag.min ?? 0} to ${flag.max ?? 'any'}`)
  if (isOption(flag)) notes.push(environmentName(flag))
  return notes.length === 0 ? '' : ` [${notes.join('; ')}]`
}

function isOption(flag: Flag): flag is Option {
  return 'for' in flag
}

/** Breaks a text at blanks so that no line is over the width. */
function wrap(text: string, margin: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && margin.length + line.length + 1 + word.length > width) {
      lines.push(margin + line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, margin + line].join('\n')
}
