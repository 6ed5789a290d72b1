// A reader of RFC 4180, for tests: what is written must come back.

/** Records of fields. Throws on what the grammar does not allow. */
export function readCsv(text: string): string[][] {
  const records: string[][] = []
  let record: string[] = []
  for (let at = 0; at < text.length; ) {
    const isQuoted = text[at] === '"'
    const [field, end] = isQuoted ? readQuoted(text, at + 1) : readPlain(text, at)
    record.push(field)
    if (text[end] === ',') at = end + 1
    else if (text.startsWith('\r\n', end)) {
      records.push(record)
      record = []
      at = end + 2
    } else throw new Error(`at ${end}: neither a comma nor CRLF`)
  }
  if (record.length > 0) throw new Error('the last record has no CRLF')
  return records
}

function readQuoted(text: string, start: number): [string, number] {
  let field = ''
  for (let at = start; at < text.length; at++) {
    if (text[at] !== '"') field += text[at]
    else if (text[at + 1] === '"') field += text[at++]
    else return [field, at + 1]
  }
  throw new Error('a quoted field without an end')
}

function readPlain(text: string, start: number): [string, number] {
  const [field = ''] = /^[^",\r\n]*/.exec(text.slice(start)) ?? []
  return [field, start + field.length]
}
