/**
 * What happens when the reader of our output goes away, as in `hookonce events | head -1`. Without
 * this, Node.js ends the process with a stack. A command that changes something finishes its work;
 * the rest of its output is lost. A command that prints without end has nobody to print for, and
 * ends.
 */
export function surviveClosedPipe({ isEndless }: { readonly isEndless: boolean }): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
      if (isEndless && stream === process.stdout) process.exit(0)
    })
  }
}
