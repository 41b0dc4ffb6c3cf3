/** Saves bytes or text as a file. The browser never opens it as a page. */
export function download(content: BlobPart, name: string): void {
  const address = URL.createObjectURL(new Blob([content], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser has begun to read the file by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
