import { join } from 'node:path'

/** The absolute path of a file of the project. Tests run from its root, and may themselves lie in a build of it. */
export function inRoot(path: string): string {
  return join(process.cwd(), path)
}
