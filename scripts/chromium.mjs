// The system's Chromium, for tests, measurements and pictures.
import { existsSync } from 'node:fs'
import { installDebian } from './debian.mjs'

/** Chromium without a window, of Debian: the same pages for two thirds of the CPU time. */
const SHELL = 'chromium-headless-shell'

/** The paths that Debian, Ubuntu and Chrome use. HOOKONCE_CHROMIUM names another path. */
const PLACES = [SHELL, 'chromium', 'chromium-browser', 'google-chrome'].map((name) => `/usr/bin/${name}`)

export function chromiumOptions() {
  // The sandbox of Chromium refuses to run as root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return {
    executablePath: process.env.HOOKONCE_CHROMIUM ?? installed() ?? installByApt(),
    // Containers have little shared memory.
    args: [...args, '--disable-dev-shm-usage'],
  }
}

function installed() {
  return PLACES.find((path) => existsSync(path))
}

function installByApt() {
  const missing = `Chromium is not at ${PLACES.join(', ')}: install it, or name its place in HOOKONCE_CHROMIUM`
  installDebian(SHELL, missing)
  const path = installed()
  if (path === undefined) throw new Error('apt-get installed no Chromium')
  return path
}
