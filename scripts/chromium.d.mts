/** The options to launch the system's Chromium. As root, installs a missing Chromium with apt. */
export function chromiumOptions(): { executablePath: string; args: string[] }
