// Encoders are rude (rule 10): raw 8-bit bytes, blanks and '#' in the request target, bare LF line ends, no
// version. A head is mended on its bytes, before any parser or string sees it, so that nothing of a title is lost.

/** Where the head of a request ends in `bytes` (the index after its empty line), or -1 while that is not here. `from` is where to go on looking. */
export function headEnd(bytes: Uint8Array, from = 0): number {
  for (let lf = bytes.indexOf(LF, Math.max(0, from - 2)); lf >= 0; lf = bytes.indexOf(LF, lf + 1)) {
    const next = bytes[lf + 1] === CR ? lf + 2 : lf + 1
    if (bytes[next] === LF) return next + 1
  }
  return -1
}

/** How many CR and LF stand before the request line; RFC 9112 2.2 wants them ignored. */
export function leadingLineEnds(bytes: Uint8Array): number {
  let at = 0
  while (bytes[at] === CR || bytes[at] === LF) at++
  return at
}

/**
 * The head in a form that an HTTP parser takes: in the request target every byte that cannot stand in one is
 * percent-escaped, a missing version becomes HTTP/1.0, and every line ends with CR LF. `head` is everything from
 * the request line to the empty line. A head that needs nothing is returned as it is, the same bytes.
 * What else is wrong with it is left for the parser to refuse.
 */
export function mendHead(head: Buffer): Buffer {
  const firstLf = head.indexOf(LF)
  const line = head.subarray(0, firstLf)
  const rest = head.subarray(firstLf + 1)
  const mendedLine = mendRequestLine(line)
  const mendedRest = mendLineEnds(rest)
  if (mendedLine === line && mendedRest === rest) return head
  return Buffer.concat([mendedLine, LF_BYTES, mendedRest])
}

const CR = 0x0d
const LF = 0x0a
const BLANK = 0x20
const HASH = 0x23
const DEL = 0x7f
const LF_BYTES = Buffer.from('\n')
const CRLF_BYTES = Buffer.from('\r\n')

type RequestLine = { method: string; target: Buffer; version: string }

/** The parts of a request line; the target is everything between the method and the version, blanks and all. */
function splitRequestLine(line: Buffer): RequestLine {
  const text = line.toString('latin1').replace(/\r$/, '')
  const { method = '', rest = '' } = /^(?<method>[^ \t]*)[ \t]*(?<rest>.*)$/s.exec(text)?.groups ?? {}
  const { version = '' } = /[ \t](?<version>HTTP\/\d+\.\d+)[ \t]*$/i.exec(rest)?.groups ?? {}
  // Exactly one blank belongs to the version: further ones may be the end of a separator.
  const target = version === '' ? rest : rest.replace(/[ \t]HTTP\/[\d.]+[ \t]*$/i, '')
  return { method, target: Buffer.from(target, 'latin1'), version: version.toUpperCase() }
}

/** `line` is without its LF; so is the result, which ends with CR. */
function mendRequestLine(line: Buffer): Buffer {
  const { method, target, version } = splitRequestLine(line)
  const mended = Buffer.from(`${method} ${escapeTarget(target)} ${version || 'HTTP/1.0'}\r`, 'latin1')
  return mended.equals(line) ? line : mended
}

function escapeTarget(target: Buffer): string {
  let escaped = ''
  for (const byte of target) {
    escaped += mayStand(byte)
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return escaped
}

function mayStand(byte: number): boolean {
  return byte > BLANK && byte < DEL && byte !== HASH
}

function mendLineEnds(lines: Buffer): Buffer {
  const pieces: Buffer[] = []
  let from = 0
  for (let lf = lines.indexOf(LF); lf >= 0; lf = lines.indexOf(LF, lf + 1)) {
    if (lf > 0 && lines[lf - 1] === CR) continue
    pieces.push(lines.subarray(from, lf), CRLF_BYTES)
    from = lf + 1
  }
  return from === 0 ? lines : Buffer.concat([...pieces, lines.subarray(from)])
}
