import type { Worker as Child } from 'node:cluster'
import { randomUUID } from 'node:crypto'
import type { MetricsSnapshot } from '../observe/snapshot.ts'

/*
 * Requests from the first of several processes to the others, over their channels. If a process
 * dies before it answers, the result is undefined, and the other processes continue.
 */

/** The state of one of several processes, as its instance of hookonce reports it. */
export interface Respondent {
  readonly metrics: { snapshot(): Promise<MetricsSnapshot> }
  ready(): Promise<boolean>
  /** Reads the configuration again. Resolves to true if the new configuration is in force. */
  reload(): Promise<boolean>
}

interface Answers {
  readonly metrics: MetricsSnapshot
  readonly ready: boolean
  readonly reload: boolean
}

interface Question {
  readonly hookonce: 'question'
  readonly id: string
  readonly topic: keyof Answers
}

interface Reply {
  readonly hookonce: 'reply'
  readonly id: string
  /** Undefined if the process could not answer. */
  readonly answer?: Answers[keyof Answers] | undefined
}

const ANSWER_WITHIN_MS: Readonly<Record<keyof Answers, number>> = {
  metrics: 5_000,
  ready: 5_000,
  // Longer, because the configuration before the replaced one may still be ending.
  reload: 120_000,
}

/** Runs in the first process. Undefined: the child died, could not answer, or answered too late. */
export function ask<Topic extends keyof Answers>(
  child: Child,
  topic: Topic,
): Promise<Answers[Topic] | undefined> {
  const question: Question = { hookonce: 'question', id: randomUUID(), topic }
  return new Promise((resolve) => {
    function end(answer: Answers[Topic] | undefined): void {
      clearTimeout(timer)
      child.off('message', onMessage).off('exit', onGone).off('disconnect', onGone)
      resolve(answer)
    }
    function onMessage(message: Reply): void {
      // The reply with this id belongs to this topic.
      if (message.hookonce === 'reply' && message.id === question.id) end(message.answer as Answers[Topic])
    }
    function onGone(): void {
      end(undefined)
    }
    const timer = setTimeout(end, ANSWER_WITHIN_MS[topic], undefined)
    child.on('message', onMessage).on('exit', onGone).on('disconnect', onGone)
    // The callback receives the error of a closed channel, which would otherwise end this process.
    child.send(question, (error) => error && onGone())
  })
}

/** Runs in the other processes: answers the first process. */
export function answerQuestions(respondent: Respondent): void {
  process.on('message', async (message: Question) => {
    if (message.hookonce !== 'question') return
    const answer = await answerTo(message.topic, respondent).catch(() => undefined)
    const reply: Reply = { hookonce: 'reply', id: message.id, answer }
    // If the first process has ended, the channel is closed, and this process is about to end.
    process.send?.(reply, undefined, undefined, () => undefined)
  })
}

function answerTo(
  topic: keyof Answers,
  { metrics, ready, reload }: Respondent,
): Promise<Answers[keyof Answers]> {
  if (topic === 'reload') return reload()
  return topic === 'metrics' ? metrics.snapshot() : ready()
}
