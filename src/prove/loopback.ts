/* The hosts that the prover may write to without confirmation. */

/**
 * Whether a host is certainly this machine. Names are not resolved, because a name may point
 * anywhere.
 */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  // A path is a Unix socket.
  return (
    name.startsWith('/') || name === 'localhost' || name.endsWith('.localhost') || isLoopbackAddress(name)
  )
}

function isLoopbackAddress(name: string): boolean {
  return name === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
}
