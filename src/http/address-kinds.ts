import { BlockList, isIP, isIPv4 } from 'node:net'

/*
 * Kinds of IP addresses, after the registries of IANA. An address that is not public may lead to
 * servers that this machine can reach but strangers cannot.
 */

export type AddressKind =
  | 'public'
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'metadata'
  | 'multicast'
  | 'reserved'

/** The first kind that contains an address is its kind. */
const RANGES: readonly (readonly [AddressKind, readonly string[]])[] = [
  [
    // Metadata services, which return credentials of the machine. Some are inside private ranges,
    // one is public.
    'metadata',
    [
      '169.254.169.254/32',
      '169.254.170.2/32',
      '169.254.170.23/32',
      '100.100.100.200/32',
      '168.63.129.16/32',
      '192.0.0.192/32',
      'fd00:ec2::254/128',
      'fd00:ec2::23/128',
      'fd20:ce::254/128',
    ],
  ],
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['private', ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10']],
  ['link-local', ['169.254.0.0/16', 'fe80::/10']],
  ['multicast', ['224.0.0.0/4', 'ff00::/8']],
  [
    'reserved',
    [
      // "This host": Linux connects 0.0.0.0 to the machine itself.
      '0.0.0.0/8',
      '192.0.0.0/24',
      '192.0.2.0/24',
      '192.88.99.0/24',
      '198.18.0.0/15',
      '198.51.100.0/24',
      '203.0.113.0/24',
      '240.0.0.0/4',
      // Teredo and other protocols, documentation, 6to4. An address of 6to4 may lead to any IPv4
      // address.
      '2001::/23',
      '2001:db8::/32',
      '2002::/16',
      '3fff::/20',
    ],
  ],
  ['public', ['0.0.0.0/0', '2000::/3']],
]

const LISTS = RANGES.map(([kind, ranges]) => ({ kind, list: listOf(ranges) }))

/** Throws if the text is not an IP address. */
export function addressKind(address: string): AddressKind {
  const plain = plainAddress(address)
  if (plain === undefined) throw new TypeError(`"${address}" is not an IP address`)
  const family = isIPv4(plain) ? 'ipv4' : 'ipv6'
  // Of IPv6, only 2000::/3 is in use.
  return LISTS.find(({ list }) => list.check(plain, family))?.kind ?? 'reserved'
}

/**
 * The address in its canonical form, without a zone. An IPv4 address inside an IPv6 address
 * (mapped, or for NAT64) is returned as IPv4. Undefined: not an IP address.
 */
export function plainAddress(text: string): string | undefined {
  const [address = ''] = text.replace(/^\[(.*)\]$/, '$1').split('%')
  if (isIP(address) === 0) return undefined
  if (isIPv4(address)) return address
  const spelled = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const embedded = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4})(?::([0-9a-f]{1,4}))?$/.exec(spelled)
  if (!embedded) return spelled
  const [, first = '', second] = embedded
  // `64:ff9b::1` has one group after the gap: the lower half.
  const [high, low] = second === undefined ? ['0', first] : [first, second]
  return [high, low]
    .flatMap((group) => {
      const number = Number.parseInt(group, 16)
      return [number >> 8, number & 255]
    })
    .join('.')
}

/** Makes a list of addresses and ranges, such as `10.0.0.0/8`. */
export function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/')
    const family = isIPv4(network) ? 'ipv4' : 'ipv6'
    list.addSubnet(network, Number(prefix ?? (family === 'ipv4' ? 32 : 128)), family)
  }
  return list
}
