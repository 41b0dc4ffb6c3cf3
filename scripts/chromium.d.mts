/** How to launch the system's Chromium. Installs it with apt where it is missing, as root. */
export function chromiumOptions(): { executablePath: string; args: string[] }
