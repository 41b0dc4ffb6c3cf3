import type { ComponentChildren } from 'preact'
import { explain } from '../api.ts'
import type { Resource } from '../data/resource.ts'
import { PlanDialog, type PlanDialogProps } from './dialog.tsx'
import { Skeleton } from './feedback.tsx'

type Shared = Pick<PlanDialogProps, 'title' | 'verb' | 'isDangerous' | 'onConfirm' | 'onClose'>

interface JobsDialogProps<Plan> extends Shared {
  /** A description of the jobs. */
  readonly what: string
  /** The plan for these jobs, which the API reads. */
  readonly planned: Pick<Resource<Plan>, 'data' | 'error'>
  /** The consequences of the plan: `<dt>` and `<dd>`. */
  readonly consequences: (plan: Plan) => ComponentChildren
  /** Further fields below the consequences. */
  readonly children?: ComponentChildren
}

/** A dialog before an action on many jobs. It can be confirmed if the plan has any job. */
export function JobsDialog<Plan extends { readonly jobs: number }>(props: JobsDialogProps<Plan>) {
  const { what, planned, consequences, children, ...dialog } = props
  const { data: plan, error } = planned
  return (
    <PlanDialog {...dialog} isReady={(plan?.jobs ?? 0) > 0}>
      <p class="muted">{what}</p>
      {error !== undefined && <p class="fault">{explain(error)}</p>}
      {!plan && error === undefined && <Skeleton rows={3} />}
      {plan && <dl class="consequence">{consequences(plan)}</dl>}
      {children}
    </PlanDialog>
  )
}
