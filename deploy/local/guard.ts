// Whatever becomes of the one who started the cluster, nothing of it stays behind.
import { type ChildProcess, spawn } from 'node:child_process'

/** Keeps a list of pids, and kills them once its input ends; then it does the last work. */
const script = `
pids=
while read -r what pid; do
  case $what in
    +) pids="$pids $pid" ;;
    -) rest=; for p in $pids; do [ "$p" = "$pid" ] || rest="$rest $p"; done; pids=$rest ;;
  esac
done
for p in $pids; do kill -CONT "$p"; kill -KILL "$p"; done 2>/dev/null
sleep 0.2
eval "$1"
`

/** A shell that outlives a kill -9 of this process: the pipe between them then closes. */
export class Guard {
  readonly #shell: ChildProcess

  /** lastWork: shell commands that clean up behind the processes. */
  constructor(lastWork: string) {
    this.#shell = spawn('sh', ['-c', script, 'guard', lastWork], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#shell.unref()
  }

  add(pid: number): void {
    this.#shell.stdin?.write(`+ ${pid}\n`)
  }

  remove(pid: number): void {
    this.#shell.stdin?.write(`- ${pid}\n`)
  }

  /** Kills what is left and does the last work; resolves when that is done. */
  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#shell.once('close', resolve))
    this.#shell.ref()
    this.#shell.stdin?.end()
    await closed
  }
}
