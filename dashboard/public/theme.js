// Runs before the first paint, so that a chosen theme does not flash. shell/theme.ts writes the
// choice.
try {
  const theme = localStorage.getItem('hookonce.theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // The browser keeps nothing for this page: the theme of the system stays.
}
