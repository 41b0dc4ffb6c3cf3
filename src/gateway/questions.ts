import type { Worker as Child } from 'node:cluster'

/*
 * What the first of several processes asks the others, over their channels. A process may die
 * between a question and its answer: then there is no answer, and nobody else notices.
 */

/** How one of several processes is; the first process asks for it. */
export interface Answers {
  metrics(): Promise<string>
  ready(): Promise<boolean>
}

type Topic = keyof Answers

interface Question {
  readonly hookonce: 'question'
  readonly id: number
  readonly topic: Topic
}

interface Reply {
  readonly hookonce: 'reply'
  readonly id: number
  /** Undefined: it cannot be told. */
  readonly text: string | undefined
}

const ANSWER_WITHIN_MS = 5_000
const YES = 'yes'

let asked = 0

/** In the first process. Undefined: the child died, or did not answer in time. */
export function ask(child: Child, topic: Topic): Promise<string | undefined> {
  asked += 1
  const question: Question = { hookonce: 'question', id: asked, topic }
  return new Promise((resolve) => {
    function end(text: string | undefined): void {
      clearTimeout(timer)
      child.off('message', onMessage).off('exit', onGone).off('disconnect', onGone)
      resolve(text)
    }
    function onMessage(message: Reply): void {
      if (message.hookonce === 'reply' && message.id === question.id) end(message.text)
    }
    function onGone(): void {
      end(undefined)
    }
    const timer = setTimeout(end, ANSWER_WITHIN_MS, undefined)
    child.on('message', onMessage).on('exit', onGone).on('disconnect', onGone)
    // With a callback a closed channel is told to it. Without one, it would end this process.
    child.send(question, (error) => error && onGone())
  })
}

export async function askReady(child: Child): Promise<boolean> {
  return (await ask(child, 'ready')) === YES
}

/** In one of several: answers the first process. */
export function answerQuestions(answers: Answers): void {
  process.on('message', async (message: Question) => {
    if (message.hookonce !== 'question') return
    const text = await textOf(message.topic, answers).catch(() => undefined)
    const reply: Reply = { hookonce: 'reply', id: message.id, text }
    // If the first process is gone, so is the channel, and this one is about to end.
    process.send?.(reply, undefined, undefined, () => undefined)
  })
}

async function textOf(topic: Topic, { metrics, ready }: Answers): Promise<string> {
  if (topic === 'metrics') return metrics()
  return (await ready()) ? YES : 'no'
}
