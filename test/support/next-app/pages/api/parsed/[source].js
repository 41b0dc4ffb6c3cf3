import { hooks } from '../../../hooks.js'

// Without `bodyParser: false`, to test the answer.
export default hooks.node()
