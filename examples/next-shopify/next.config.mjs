// hookonce reads its migrations from its own folder, so Next.js must not bundle it.
export default { serverExternalPackages: ['hookonce'] }
