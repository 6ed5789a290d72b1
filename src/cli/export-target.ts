// Where an export goes: standard output, or a file that is continued from its last whole line.
import { type FileHandle, open } from 'node:fs/promises'
import { StartError } from '../observe/service.ts'
import { type EventFormat, eventFormats } from './event-lines.ts'
import type { Output } from './output.ts'

export type ExportTarget = {
  /** Sequence of the last event that is there already, 0 where there is none. */
  last: number
  write(text: string): Promise<void>
  close(): Promise<void>
}

const tailBytes = 4 * 1024 * 1024

export function standardOutput(output: Output): ExportTarget {
  return { last: 0, write: text => output.text(text), close: async () => undefined }
}

/** Makes the file, or cuts an existing one behind its last whole line. Throws a StartError where it is no such export. */
export async function openFile(file: string, format: EventFormat): Promise<ExportTarget> {
  const handle = await open(file, 'a+', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`${file} cannot be written: ${error.code}`)
  })
  try {
    const last = await lastSequence(handle, file, format)
    return {
      last,
      write: async text => {
        await handle.appendFile(text).catch((error: NodeJS.ErrnoException) => {
          throw new StartError(
            `${file} cannot be written: ${error.code}; run the export again, and it goes on`,
          )
        })
      },
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Cuts off what is no whole line, and reads the last one. */
async function lastSequence(handle: FileHandle, file: string, format: EventFormat): Promise<number> {
  const { size } = await handle.stat()
  const start = Math.max(0, size - tailBytes)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start)
  const end = buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1
  const lines = buffer.subarray(0, end).toString().split('\n')
  const { head, sequence } = eventFormats[format]
  const last = lines.at(-2)
  const found = sequence.exec(last ?? '')
  const isHeadOnly = last === undefined || `${last}\n` === head
  if (found === null && (!isHeadOnly || (end === 0 && start > 0)))
    throw new StartError(`${file} is there and no ${format} export of nownext; give another name`)
  // Behind a head line alone, or nothing, all is written anew.
  await handle.truncate(found === null ? 0 : start + end)
  return Number(found?.[1] ?? 0)
}
