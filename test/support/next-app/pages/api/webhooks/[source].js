import { hooks } from '../../../hooks.js'

export const config = { api: { bodyParser: false } }
export default hooks.node()
