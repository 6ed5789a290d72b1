// Comma-separated values (RFC 4180), as spreadsheets and old systems write them: also with ; or tabs.

const delimiters = [',', ';', '\t']

export function csvField(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The delimiter of a file, from its head line. */
export function delimiterOf(head: string): string {
  const counts = delimiters.map(delimiter => head.split(delimiter).length)
  return delimiters[counts.indexOf(Math.max(...counts))] ?? ','
}

/** Whether the text ends inside a quoted field, which then goes on in the next line. */
export function isOpen(text: string): boolean {
  return text.split('"').length % 2 === 0
}

/** The fields of one record. null where a quote stands where none may. */
export function csvFields(record: string, delimiter: string): string[] | null {
  const fields: string[] = []
  for (let at = 0; at <= record.length; at++) {
    if (record[at] !== '"') {
      const end = indexOrEnd(record, delimiter, at)
      const text = record.slice(at, end)
      if (text.includes('"')) return null
      fields.push(text)
      at = end
      continue
    }
    const end = endOfQuoted(record, at)
    if (end < 0 || (end < record.length && record[end] !== delimiter)) return null
    fields.push(record.slice(at + 1, end - 1).replaceAll('""', '"'))
    at = end
  }
  return fields
}

/** The index after the closing quote of the field that opens at `start`; -1 where there is none. */
function endOfQuoted(record: string, start: number): number {
  for (let at = start + 1; at < record.length; at++) {
    if (record[at] !== '"') continue
    if (record[at + 1] !== '"') return at + 1
    at++
  }
  return -1
}

function indexOrEnd(text: string, part: string, from: number): number {
  const at = text.indexOf(part, from)
  return at < 0 ? text.length : at
}
