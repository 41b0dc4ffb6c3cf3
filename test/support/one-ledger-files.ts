/**
 * Scenarios that run with one ledger, also when the others run with several (many-ledgers.ts), and
 * why the number of ledgers says nothing there.
 */
export const ONE_LEDGER_FILES: Readonly<Record<string, string>> = {
  'ledger-role.test.ts': 'grants the documented rights, which are those on one schema',
  'cli-doctor-machine.test.ts':
    'checks the machine; of several ledgers, each check has the name of its ledger',
  'ledger-previous-release.test.ts': 'runs an older build, which has no option `ledgers`',
  'ledger-rolling-deploy.test.ts': 'runs an older build, which has no option `ledgers`',
  'failure-counts-older-build.test.ts': 'runs an older build, which has no option `ledgers`',
  'privacy-older-build.test.ts': 'runs an older build, which has no option `ledgers`',
}
