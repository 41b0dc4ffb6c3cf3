import { adviceFor } from '../advice.ts'
import { FAULTS, type Finding } from '../judge.ts'
import { faultsOf, type Proof, type ScheduleResult } from '../result.ts'
import { escaped } from './xml.ts'

/* A self-contained file: it has no script, and loads nothing from the network. */

export function htmlReport(proof: Proof): string {
  const { results, verdict } = proof
  const of = (outcome: ScheduleResult['outcome']): ScheduleResult[] =>
    results.filter((result) => result.outcome === outcome)
  const [broken, held, untried] = [of('broken'), of('held'), of('not-tried')]
  const title =
    verdict === 'proven'
      ? 'No fault was found'
      : `${broken.length} of ${results.length - untried.length} schedules broke the receiver`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hookonce prove: ${escaped(proof.url)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="kicker">hookonce prove</p>
<h1 class="${verdict}">${title}</h1>
<dl>
${facts(proof)}
</dl>
${section('What broke it', broken.map(brokenCard))}
${section('Effects of one delivery', [list(proof.baseline.length > 0 ? proof.baseline : ['no visible effect'], 'code')])}
${section(
  'What held',
  [
    table(
      ['schedule', 'what happens', 'plays', 'notes'],
      held.map((each) => [each.name, each.title, String(each.plays), each.notes.join('; ')]),
    ),
  ],
  held.length,
)}
${section(
  'What was not tried',
  [
    table(
      ['schedule', 'what happens', 'why not'],
      untried.map((each) => [each.name, each.title, each.reason ?? '']),
    ),
  ],
  untried.length,
)}
${section('Limits of this run', [list(proof.limits)])}
${section('What was watched', [
  list([...proof.watched, ...proof.unwatched.map((each) => `not watched: ${each}`)]),
  proof.masked.length > 0
    ? `<p>These fields differ from event to event, so they were not compared:</p>${list(proof.masked, 'code')}`
    : '',
])}
</main>
</body>
</html>
`
}

function facts({ url, provider, type, seed, startedAt, ms }: Proof): string {
  const rows = [
    ['receiver', url],
    ['events', `${provider} ${type}`],
    ['seed', String(seed)],
    ['when', `${startedAt}, for ${Math.round(ms / 1_000)} s`],
  ]
  return rows
    .map(([name = '', value = '']) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`)
    .join('\n')
}

function section(title: string, parts: readonly string[], count = parts.length): string {
  return count === 0 ? '' : `<section>\n<h2>${escaped(title)}</h2>\n${parts.join('\n')}\n</section>`
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function brokenCard(result: ScheduleResult): string {
  const faults = faultsOf(result)
  const advice = adviceFor(result)
  return `<article>
<h3>${escaped(result.title)} <span class="fault">${escaped(faults.join(', '))}</span></h3>
<p>${escaped(sentence(faults.map((fault) => FAULTS[fault]).join('; ')))}</p>
<h4>The shortest schedule that shows it</h4>
<ol>${result.steps.map((step) => `<li>${escaped(step)}</li>`).join('')}</ol>
${result.findings.map(findingTable).join('\n')}
${result.notes.length > 0 ? list(result.notes) : ''}
${advice === undefined ? '' : `<p><strong>Likely:</strong> ${escaped(advice)}.</p>`}
<h4>Repeat it</h4>
<pre>${escaped(result.repeat)}</pre>
</article>`
}

function findingTable({ where, expected, seen }: Finding): string {
  const cell = (lines: readonly string[]): string =>
    lines.length === 0
      ? '<em>nothing</em>'
      : lines.map((line) => `<code>${escaped(line)}</code>`).join('<br>')
  return `<table><caption>${escaped(where)}</caption><tr><th>expected</th><td>${cell(expected)}</td></tr><tr><th>seen</th><td>${cell(seen)}</td></tr></table>`
}

function list(lines: readonly string[], tag?: 'code'): string {
  const item = (line: string): string => (tag ? `<code>${escaped(line)}</code>` : escaped(line))
  return `<ul>${lines.map((line) => `<li>${item(line)}</li>`).join('')}</ul>`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]): string =>
    `<tr>${row.map((text) => `<${tag}>${escaped(text)}</${tag}>`).join('')}</tr>`
  return `<table>${cells('th', head)}${rows.map((row) => cells('td', row)).join('')}</table>`
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2024;--soft:#60646c;--line:#d9d9e0;--back:#fff;--code:#f3f3f6;--bad:#b42318;--good:#18794e}
@media(prefers-color-scheme:dark){:root{--ink:#edeef0;--soft:#b0b4ba;--line:#43484e;--back:#111113;--code:#1c1f22;--bad:#ff9592;--good:#3dd68c}}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1rem 4rem}
.kicker{color:var(--soft);margin:0}h1{margin:.2rem 0 1rem;font-size:1.8rem}
h1.proven{color:var(--good)}h1.broken{color:var(--bad)}
h2{margin:2.5rem 0 .8rem;border-bottom:1px solid var(--line)}h3{margin:0 0 .4rem}h4{margin:1rem 0 .3rem;color:var(--soft)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
article{border:1px solid var(--line);border-left:4px solid var(--bad);border-radius:6px;padding:1rem;margin:0 0 1rem}
.fault{font-size:.8rem;font-weight:600;color:var(--bad);border:1px solid;border-radius:1em;padding:.1em .6em;margin-left:.4em}
table{border-collapse:collapse;width:100%;margin:.6rem 0}caption{text-align:left;font-weight:600}
th,td{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}th{color:var(--soft);font-weight:500}
code,pre{background:var(--code);border-radius:4px;font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
code{padding:.1em .3em}pre{padding:.7rem;white-space:pre-wrap}`
