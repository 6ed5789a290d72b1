#!/usr/bin/env node
// The program: picks the command.
import { parseConfig } from './config/parse.ts'
import { StartError } from './observe/service.ts'

async function main([command = '', ...rest]: string[]): Promise<void> {
  if (command === 'serve' && !rest.includes('--help')) {
    const config = parseConfig(rest, process.env)
    const { serve } = await import('./serve.ts')
    return await serve(config)
  }
  // Who reads the output may have read enough, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  const { runCommand } = await import('./cli/run.ts')
  await runCommand([command, ...rest], { env: process.env, out: process.stdout, err: process.stderr })
}

main(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`nownext: ${error.message}\n`)
  process.exit(1)
})
