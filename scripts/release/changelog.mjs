// The sections of CHANGELOG.md: `## Unreleased`, then one per release, such as `## 0.2.0
// (2026-11-18)`.

const UNRELEASED = 'Unreleased'

/**
 * The text below the heading of a version, or of `Unreleased`. Undefined if there is no such
 * section.
 */
export function sectionOf(changelog, version = UNRELEASED) {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((text) => text.split(/[\s(]/, 1)[0] === version)
  return section?.slice(section.indexOf('\n')).trim()
}

/** Turns `Unreleased` into the section of a version. */
export function withRelease(changelog, version, date) {
  if (sectionOf(changelog, version) !== undefined)
    throw new Error(`CHANGELOG.md already has a section ${version}`)
  if (!sectionOf(changelog)) throw new Error(`CHANGELOG.md has nothing below "## ${UNRELEASED}"`)
  return changelog.replace(`## ${UNRELEASED}\n`, `## ${UNRELEASED}\n\n## ${version} (${date})\n`)
}
