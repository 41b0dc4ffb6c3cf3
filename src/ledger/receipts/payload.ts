/** For the receipt `r`: its headers and body are stored, plain or encrypted. */
export const HAS_PAYLOAD = '(r.body is not null or r.sealed is not null)'
