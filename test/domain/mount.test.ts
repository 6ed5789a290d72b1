import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMountPath, isMountUrl, isTitleCharset } from '../../src/domain/mount.ts'

const table: Array<[check: (text: string) => boolean, good: string[], bad: string[]]> = [
  [
    isMountUrl,
    ['http://127.0.0.1:8000', 'https://radio.example', 'http://[::1]:8000/', 'http://h/behind/proxy'],
    [
      '',
      'h:8000',
      'ftp://h',
      'http://',
      'http://u:p@h',
      'http://u@h',
      'http://h/?x',
      'http://h/#x',
      'http://h /',
      'http://h/\0',
      'http://h/\u0085',
    ],
  ],
  [
    isMountPath,
    ['/live', '/a/b.mp3', "/it's;&=%20"],
    ['', '/', 'live', '/a b', '/a?b', '/a#b', '/ü', '/a\n'],
  ],
  [
    isTitleCharset,
    ['UTF-8', 'none', 'ISO-8859-1', 'iso8859-15', 'windows-1252', 'koi8-r'],
    [
      '',
      'utf-16',
      'UTF-16LE',
      'utf-32',
      'base64',
      'hex',
      'base-64',
      'h-ex',
      'binary',
      'b.inary',
      'klingon',
      'NONE',
    ],
  ],
]

test('url, mount and charset of a mount', () => {
  for (const [check, good, bad] of table) {
    for (const text of good) assert.ok(check(text), text)
    for (const text of bad) assert.ok(!check(text), JSON.stringify(text))
  }
})
