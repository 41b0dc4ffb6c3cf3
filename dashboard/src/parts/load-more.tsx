import type { Pages } from '../data/pages.ts'
import { texts } from '../texts.ts'

/** A button below a short list that reads the next page. */
export function LoadMore({
  pages,
}: {
  readonly pages: Pick<Pages<unknown>, 'hasMore' | 'isLoading' | 'more'>
}) {
  if (!pages.hasMore) return null
  return (
    <div class="load-more">
      <button type="button" disabled={pages.isLoading} onClick={() => pages.more()}>
        {pages.isLoading ? texts.loading : texts.loadMore}
      </button>
    </div>
  )
}
