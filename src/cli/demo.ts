/** The source that `dev` opens for a first try, without registration at a provider. */
export const DEMO = 'demo'
