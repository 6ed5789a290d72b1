// docs/errors.md, from the catalogue of errors.
import { type ErrorCode, errorCatalogue, problemContentType, problemDetails } from '../src/api/errors.ts'

export function errorsPage(): string {
  const codes = Object.keys(errorCatalogue) as ErrorCode[]
  const rows = codes.map(code => {
    const { status, title, explanation } = errorCatalogue[code]
    return `| ${status} | \`${code}\` | ${title} | ${explanation} |`
  })
  const example = problemDetails('invalid', undefined, [
    { field: 'duration', message: 'must be seconds, 0 to 2147483647' },
  ])
  return `# Errors

<!-- Generated from src/api/errors.ts by scripts/generate-docs.ts. Do not edit. -->

Every error answer is a problem (RFC 9457) of type \`${problemContentType}\`. Programs go by \`code\`: it is stable; the
texts are for people and may change. \`errors\` names each field at fault, where there are some. 429 and 503 come with
\`Retry-After\` in seconds.

\`\`\`json
${JSON.stringify(example, null, 2)}
\`\`\`

| Status | Code | Title | Meaning |
|---|---|---|---|
${rows.join('\n')}
`
}
