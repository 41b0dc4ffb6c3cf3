import { attention } from './attention.ts'
import type { Command } from './command.ts'
import { dev } from './dev.ts'
import { events } from './events.ts'
import { migrate } from './migrate.ts'
import { outbox } from './outbox.ts'
import { pause, resume } from './pause.ts'
import { rejections } from './rejections.ts'
import { replay } from './replay.ts'
import { serve } from './serve.ts'
import { show } from './show.ts'
import { sources } from './sources.ts'
import { trigger } from './trigger.ts'
import { verify } from './verify.ts'

/** In the order of the help text. */
export const commands: readonly Command[] = [
  dev,
  serve,
  migrate,
  events,
  show,
  replay,
  attention,
  outbox,
  rejections,
  pause,
  resume,
  sources,
  verify,
  trigger,
]
