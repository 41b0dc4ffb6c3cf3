import { computed, signal } from '@preact/signals'

/* Light, dark, or the system's theme. public/theme.js reads the choice before the first paint. */

export type Theme = 'system' | 'light' | 'dark'

const STORED = 'hookonce.theme'
const prefersDark = window.matchMedia('(prefers-color-scheme: dark)')
const systemIsDark = signal(prefersDark.matches)
prefersDark.addEventListener('change', ({ matches }) => {
  systemIsDark.value = matches
})

export const theme = signal<Theme>(readTheme())

/** The theme in effect, for canvases, which do not follow CSS. */
export const shownTheme = computed(() => {
  if (theme.value !== 'system') return theme.value
  return systemIsDark.value ? 'dark' : 'light'
})

function readTheme(): Theme {
  const { theme: given } = document.documentElement.dataset
  return given === 'light' || given === 'dark' ? given : 'system'
}

export function setTheme(next: Theme): void {
  if (next === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = next
  theme.value = next
  try {
    if (next === 'system') localStorage.removeItem(STORED)
    else localStorage.setItem(STORED, next)
  } catch {
    // The browser stores nothing for this page: the choice lasts until the page is closed.
  }
}

const ORDER: readonly Theme[] = ['system', 'light', 'dark']

export function nextTheme(): void {
  setTheme(ORDER[(ORDER.indexOf(theme.peek()) + 1) % ORDER.length] ?? 'system')
}
