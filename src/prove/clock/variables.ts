/** The environment variables that `moved-clock.ts` reads in the receiver. */
export const AHEAD_MS = 'HOOKONCE_PROVE_CLOCK_AHEAD_MS'
export const REPORTS = 'HOOKONCE_PROVE_CLOCK_REPORTS'
