// Not bundled: stores load their clients when they are used.
export default { serverExternalPackages: ['hookonce'] }
