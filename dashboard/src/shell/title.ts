/** The title of the window. A page may set a more specific title than its route. */
export function setTitle(title: string): void {
  document.title = `${title} · hookonce`
}
