// Addresses of pictures (rule 9): only http and https are delivered, so that no script address reaches a page.
import type { Images } from './event.ts'
import { cleanText } from './text.ts'

/** The longest address that is kept. Code units. */
export const maxAddressCharacters = 2048

const scheme = /^https?:\/\//i
const sizes = ['small', 'medium', 'large'] as const

/** Whether this is an http or https address of at most `maxAddressCharacters`. */
export function isWebAddress(text: string): boolean {
  return text.length <= maxAddressCharacters && scheme.test(text) && URL.canParse(text)
}

/** The pictures of a pushed `images`, null if there are none, and the names of the parts that were dropped. */
export function readImages(value: unknown): { images: Images | null; dropped: string[] } {
  if (isEmpty(value)) return { images: null, dropped: [] }
  if (!isObject(value)) return { images: null, dropped: ['images'] }
  const images: Images = {}
  const dropped: string[] = []
  for (const size of sizes) {
    const address = addressOf(value[size])
    if (isWebAddress(address)) images[size] = { url: address }
    else if (address !== '') dropped.push(`images.${size}`)
  }
  return { images: Object.keys(images).length > 0 ? images : null, dropped }
}

/** The address in one picture, empty if there is none; what is no picture comes back as no address. */
function addressOf(picture: unknown): string {
  if (isEmpty(picture)) return ''
  const url = isObject(picture) ? picture['url'] : 'no object'
  if (isEmpty(url)) return ''
  return typeof url === 'string' ? cleanText(url).trim() : 'no text'
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
