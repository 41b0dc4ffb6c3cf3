// Reads the steps that a page describes. A step is a comment of the form `<!-- first hour: … -->`,
// which readers do not see, and the text below it.
//
//   run NAME          runs the commands of the next block. One that does not end is left running as NAME
//   prints            the block is what the last command printed
//   NAME prints       the block is what NAME prints
//   stop NAME         stops it, as Ctrl-C does
//   save FILE         the block is saved as FILE
//   send twice        sends the `curl` line of `hookonce dev` twice. The paragraph shows both answers
//   responses         the first sentence shows the responses that the last command printed
//   open              opens the dashboard, and looks for the event
//   try               runs each command in the first column of the table
//   install           runs the two commands of the paragraph: in the clone, and in a new folder
const STEP = /^<!-- first hour: (.+?) -->\n((?:<!-- .* -->\n)*)/gm

/** @returns {{ page: string, line: number, step: string, text: string }[]} */
export function stepsOf(page, markdown) {
  return [...markdown.matchAll(STEP)].map((match) => ({
    page,
    line: markdown.slice(0, match.index).split('\n').length,
    step: match[1],
    text: textBelow(markdown.slice(match.index + match[0].length)),
  }))
}

/** A block without its fences, or a paragraph or table. */
function textBelow(markdown) {
  const block = /^```\w*\n([\s\S]*?)^```$/m.exec(markdown)
  if (block?.index === 0) return block[1]
  return markdown.split(/\n\n/, 1)[0]
}

/** The texts between backticks. */
export function quoted(text) {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code)
}
