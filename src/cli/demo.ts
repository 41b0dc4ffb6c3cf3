/** The source that `dev` opens for a first try: nothing has to be registered with a provider. */
export const DEMO = 'demo'
