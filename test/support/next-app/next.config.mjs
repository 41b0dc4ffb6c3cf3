// Not bundled, because stores load their clients at first use.
export default { serverExternalPackages: ['hookonce'] }
