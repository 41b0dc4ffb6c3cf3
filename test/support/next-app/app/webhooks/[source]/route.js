import { hooks } from '../../../hooks.js'

export const { GET, POST } = hooks.next()
