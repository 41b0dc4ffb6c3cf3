/** The properties that the router passes to every page. */
export interface PageProps {
  /** The values of `:name` in the path. */
  readonly params: Readonly<Record<string, string>>
}
