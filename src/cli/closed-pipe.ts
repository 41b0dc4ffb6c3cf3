/**
 * Handles a closed output, as in `hookonce events | head -1`. Without this, Node.js ends the
 * process with a stack trace. A command that changes something finishes its work; the rest of its
 * output is lost. A command that prints without end exits.
 */
export function surviveClosedPipe({ isEndless }: { readonly isEndless: boolean }): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
      if (isEndless && stream === process.stdout) process.exit(0)
    })
  }
}
