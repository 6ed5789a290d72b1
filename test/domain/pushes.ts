// Pushes as encoders and playout systems are known to send them, with what must come out.
import type { MetadataRecord } from '../../src/domain/record.ts'

export type PushRow = {
  /** The habit or fault that is shown. */
  name: string
  /** The query of a GET, one character per byte. */
  query?: string
  /** The body of a POST, one character per byte. */
  body?: string
  charset?: string
  /** Fields of the record that is delivered. */
  record?: Partial<MetadataRecord>
  /** Its text form. */
  text?: string
  /** Fields at fault; `body` where it is no JSON object. */
  refused?: string[]
}

/** They arrive at 2026-12-01T12:00:00Z; the channel's zone is Europe/Berlin. */
export const pushRows: PushRow[] = [
  {
    name: 'Ampersand is shown as an HTML entity or as a backslash-u escape.',
    query: 'song=Salt%20%26%20Amber&artist=Harrow%20%26%20Sons&duration=190',
    record: { song: 'Salt & Amber', artist: 'Harrow & Sons' },
    text: 'Harrow & Sons - Salt & Amber',
  },
  {
    name: 'Escaping function writes an escape that is not two hex digits.',
    query: 'song=Tab%9Stop&artist=Leo%20Marr&duration=99',
    record: { song: 'Tab%9Stop', artist: 'Leo Marr' },
  },
  {
    name: 'Umlauts come out as question marks unless the charset is stated by hand.',
    query: 'encoding=windows&song=Gr%FC%DFe%20aus%20%C4hrenfeld&artist=Zo%EB%20P%E9rin&duration=198',
    record: { song: 'Grüße aus Ährenfeld', artist: 'Zoë Périn' },
  },
  {
    name: 'Curly apostrophe or dash shows up as garbage or as a numeric entity.',
    query: 'encoding=windows&song=Don%92t%20Wake%20the%20River%20%96%20Live&artist=Ona%20Dell&duration=240',
    record: { song: 'Don’t Wake the River – Live' },
  },
  {
    name: 'Accents double up when UTF-8 bytes are read as Latin-1.',
    query: 'encoding=windows&song=%C3%A9t%C3%A9%20long&artist=Ren%C3%A9e%20Lac&duration=205',
    record: { song: 'Ã©tÃ© long', artist: 'RenÃ©e Lac' },
  },
  {
    name: 'Source already holds double-encoded text, valid as UTF-8.',
    query: 'song=T%C3%83%C2%A9st%20Drive&artist=Uwe%20Lind&duration=166',
    record: { song: 'TÃ©st Drive' },
  },
  {
    name: 'Same charset, other spelling.',
    query: 'encoding=UTF-8&song=L%C3%A6ra&artist=S%C3%B8ren%20Dal&duration=181',
    record: { song: 'Læra', artist: 'Søren Dal' },
  },
  {
    name: 'UTF-8 bytes are written unescaped into the request line, HTTP/1.0, no Host.',
    query: 'song=Sm\xc3\xb8rebr\xc3\xb8d&artist=Liv&duration=77',
    record: { song: 'Smørebrød', artist: 'Liv' },
  },
  {
    name: 'Every non-ASCII byte is escaped as %ff.',
    query: 'song=caf%ff%ff&artist=Jon%20Pell&duration=111',
    record: { artist: 'Jon Pell', duration: 111, song: 'cafÿÿ' },
  },
  {
    name: 'An 8-bit local code page is sent without a charset.',
    query: 'song=%A4%C7%D2%C1%CA%D8%A2&artist=Radio&duration=60',
    record: { artist: 'Radio', duration: 60, song: '¤ÇÒÁÊØ¢' },
  },
  {
    name: 'Letters outside Latin-1 are sent as decimal HTML entities.',
    query: 'song=Dvo%26%23345%3B%C3%A1k%20Street&artist=Pavla&duration=140',
    record: { song: 'Dvo&#345;ák Street' },
  },
  {
    name: 'The macro puts HTML-escaped text into the URL.',
    query: 'song=Rook%20%26amp%3B%20Fern&artist=&duration=245,48',
    record: { song: 'Rook &amp; Fern', duration: 245 },
  },
  {
    name: 'A title of only blank-hyphen-blank takes the station page down.',
    query: 'song=&artist=&duration=0',
    record: { song: '', artist: '' },
    text: '',
  },
  {
    name: 'Text starts with a dash when the artist is missing and the server rejects it.',
    query: 'song=Evening%20Bulletin&artist=&duration=300&etype=104',
    record: { song: 'Evening Bulletin', artist: '', etype: 104 },
    text: 'Evening Bulletin',
  },
  {
    name: 'Trailing hyphen when one label is empty.',
    query: 'song=&artist=Morning%20Crew&duration=0',
    record: { song: '', artist: 'Morning Crew' },
    text: 'Morning Crew',
  },
  {
    name: 'Part of the title ends up in the artist when both were joined and split on the wrong hyphen.',
    query: 'song=Slow%20Tide%20-%20Part%202%20-%20Edit&artist=Jean-Luc%20Marsh&duration=222',
    record: { song: 'Slow Tide - Part 2 - Edit', artist: 'Jean-Luc Marsh' },
    text: 'Jean-Luc Marsh - Slow Tide - Part 2 - Edit',
  },
  {
    name: 'Users want another separator.',
    query: 'song=Low%20Sun&artist=Pia%20Ness&separator=%20%7C%20&duration=100',
    record: { separator: ' | ' },
    text: 'Pia Ness | Low Sun',
  },
  {
    name: 'Nothing optional is given.',
    query: 'song=Low%20Sun&artist=Pia%20Ness&duration=100',
    record: { separator: ' - ', etype: 0, type: 'now', userplayout: false },
  },
  {
    name: 'Placeholder words are pushed as if they were data.',
    query: 'song=Unknown&artist=Unknown%20Artist&duration=0',
    record: { song: 'Unknown', artist: 'Unknown Artist' },
  },
  {
    name: 'Sender writes HH:MM:SS.',
    query: 'song=Long%20Mix&artist=Amos%20Reed&duration=01:02:03',
    record: { duration: 3723 },
  },
  {
    name: 'Seconds with fractions.',
    query: 'song=Glass%20Orchard&artist=Amos%20Reed&duration=225.97',
    record: { song: 'Glass Orchard', duration: 226 },
  },
  {
    name: 'Comma as the decimal sign.',
    query: 'song=Glass%20Orchard&artist=Amos%20Reed&duration=225,4810000',
    record: { duration: 225 },
  },
  {
    name: 'Seconds and milliseconds mixed up; a song lasts 100 hours.',
    query: 'song=Glass%20Orchard&artist=Amos%20Reed&duration=225000',
    record: { duration: 225000 },
  },
  {
    name: 'Placeholder resolves to nothing.',
    query: 'song=Glass%20Orchard&artist=Amos%20Reed&duration=',
    record: { duration: 0 },
  },
  {
    name: 'Player writes -1 for unknown length.',
    query: 'song=Glass%20Orchard&artist=Amos%20Reed&duration=-1',
    refused: ['duration'],
  },
  {
    name: 'Absurd number.',
    query: 'song=Glass%20Orchard&artist=Amos%20Reed&duration=99999999999999999999',
    refused: ['duration'],
  },
  {
    name: 'Unknown track type.',
    query: 'song=Third%20Bell&artist=Nora%20Quist&duration=180&tracktype=current',
    refused: ['tracktype'],
  },
  {
    name: 'Decomposed accents altered or compared wrongly.',
    query: 'song=Cafe%CC%81%20Bru%CC%88cke&artist=Noe%CC%88l&duration=130',
    record: { song: 'Café Brücke', artist: 'Noël' },
  },
  {
    name: 'Line breaks from tags reach text outputs.',
    query: 'song=Line%20One%0D%0AX-Evil:%201&artist=Tab%09Tune&duration=50',
    record: { duration: 50, song: 'Line One X-Evil: 1', artist: 'Tab Tune' },
  },
  {
    name: 'Same parameter twice.',
    query: 'song=First%20Take&song=Second%20Take&artist=Ivo&duration=61',
    record: { artist: 'Ivo', song: 'Second Take' },
  },
  {
    name: 'An ISRC is written with hyphens.',
    query: 'song=A&artist=B&duration=1&isrc=QZ-ABC-26-00017',
    record: { isrc: 'QZ-ABC-26-00017' },
  },
  {
    name: 'Title is empty on purpose; old title must go.',
    body: '{"duration": 0, "song": "", "artist": ""}',
    record: { song: '', artist: '' },
  },
  {
    name: 'Fractional length.',
    body: '{"duration":8.36,"song":"Call ID","artist":"Wave 5"}',
    record: { song: 'Call ID', duration: 8 },
  },
  {
    name: 'null for unknown values.',
    body: '{"duration":30,"song":"S","artist":"A","cover":null,"images":null,"album":null,"isrc":null,"extdata":null,"time":null,"etype":null}',
    record: { song: 'S', isrc: '', etype: 0 },
  },
  {
    name: 'JSON body starts with a byte order mark and is refused.',
    body: '\xef\xbb\xbf{"duration":90,"song":"Bom Voyage","artist":"Lio"}',
    record: { song: 'Bom Voyage' },
  },
  {
    name: 'One NUL after the body.',
    body: '{"duration":90,"song":"Tail","artist":"Lio"}\x00',
    record: { song: 'Tail' },
  },
  {
    name: 'JSON body written in Latin-1.',
    body: '{"duration":90,"song":"\xdcber Land","artist":"Zo\xeb"}',
    charset: 'ISO-8859-1',
    record: { song: 'Über Land', artist: 'Zoë' },
  },
  {
    name: 'Sender cannot set Content-Type.',
    body: '{"duration": 90, "song": "No Type", "artist": "Lio"}',
    record: { song: 'No Type' },
  },
  {
    name: 'The content type names the charset.',
    body: '{"duration": 90, "song": "Param", "artist": "Lio"}',
    charset: 'utf-8',
    record: { song: 'Param' },
  },
  {
    name: 'The external ID is a string.',
    body: '{"duration": 90, "song": "Ext", "artist": "Lio", "externalid": "K-41"}',
    record: { song: 'Ext', externalid: 'K-41' },
  },
  {
    name: 'Script address as cover.',
    body: '{"duration": 90, "song": "<img src=x onerror=1>", "artist": "Lio", "cover": "javascript:alert(1)"}',
    record: { song: '<img src=x onerror=1>', cover: '' },
  },
  {
    name: 'Fields that are not specified, one of them in capitals.',
    body: '{"duration": 90, "song": "More", "artist": "Lio", "bpm": 120, "Song": "other"}',
    record: { song: 'More' },
  },
  {
    name: 'A key stands twice.',
    body: '{"duration":90,"song":"One","song":"Two","artist":"Lio"}',
    record: { song: 'Two' },
  },
  {
    name: 'List of tracks in one body.',
    body: '[{"duration": 90, "song": "Now", "artist": "Lio", "tracktype": "now"}, {"duration": 80, "song": "Then", "artist": "Lio", "tracktype": "next"}]',
    refused: ['body'],
  },
  {
    name: 'Unix time.',
    query: 'song=T&artist=A&duration=60&time=1795806900',
    record: { start_timestamp: 1795806900 },
  },
  {
    name: 'The + of the offset turns into a blank.',
    query: 'song=T&artist=A&duration=60&time=2026-11-27T20:15:00+01:00',
    record: { start_timestamp: 1795806900 },
  },
  {
    name: 'RFC 3339 with an escaped offset.',
    query: 'song=T&artist=A&duration=60&time=2026-11-27T20%3A15%3A00%2B01%3A00',
    record: { start_timestamp: 1795806900 },
  },
  {
    name: 'Start in studio local time, no zone, taken for UTC or the other way round.',
    query: 'song=T&artist=A&duration=60&time=2026-11-27T19:15:00',
    record: { song: 'T', start_timestamp: 1795803300 },
  },
  {
    name: 'Epoch in milliseconds.',
    query: 'song=T&artist=A&duration=60&time=1795806900250',
    record: { start_timestamp: 1795806900 },
  },
  {
    name: 'Epoch with fraction.',
    query: 'song=T&artist=A&duration=60&time=1795806900.75',
    record: { start_timestamp: 1795806900 },
  },
  {
    name: 'Clock text such as 6:56:10 PM (RadioBOSS STARTTIME form).',
    query: 'song=Clock&artist=A&duration=60&time=6:56:10%20PM',
    refused: ['time'],
  },
  { name: 'No time.', query: 'song=T&artist=A&duration=60', record: { start_timestamp: 1796126400 } },
  {
    name: 'An empty time.',
    body: '{"time": "", "duration": 60, "song": "T", "artist": "A"}',
    record: { start_timestamp: 1796126400 },
  },
  {
    name: 'Times within one record disagree.',
    query: 'song=T&artist=A&duration=60&time=2026-07-01T22:30:05Z',
    record: { start_timestamp: 1782945005 },
  },
  {
    name: 'Hour is wrong around the clock change.',
    query: 'song=Fold1&artist=A&duration=60&time=2026-10-25T00:30:00Z',
    record: { start_timestamp: 1792888200, start: '25.10.2026 02:30:00' },
  },
  {
    name: 'Spring change.',
    query: 'song=Gap&artist=A&duration=60&time=2026-03-29T01:00:00Z',
    record: { start_timestamp: 1774746000, start: '29.03.2026 03:00:00' },
  },
  {
    name: 'Start lies in the future.',
    query: 'song=Later&artist=A&duration=100&time=4102444800',
    record: { song: 'Later' },
  },
]
