import { hooks } from '../../../hooks.js'

// Without `bodyParser: false`, to see what it is answered.
export default hooks.node()
