/** The title of the window. A page may set a better one than its route has. */
export function setTitle(title: string): void {
  document.title = `${title} · hookonce`
}
