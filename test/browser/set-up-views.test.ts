import { testEveryView } from './support/every-view.ts'

const at = (path: string) => async () => path

testEveryView('/sources', (page) => page.getByText('AfterShip Tracking').waitFor())
testEveryView('/destinations', (page) => page.getByRole('button', { name: 'Pause crm' }).first().waitFor())
testEveryView('/captured', (page) => page.getByText('This gateway keeps no requests').waitFor())
testEveryView({ name: 'tokens', path: at('/settings') }, (page) =>
  page.getByText('terraform').first().waitFor(),
)
testEveryView({ name: 'audit', path: at('/settings?tab=audit') }, (page) =>
  page.getByText('the move is done').waitFor(),
)
testEveryView({ name: 'alerts', path: at('/settings?tab=alerts') }, (page) =>
  page.getByText('wait for a decision').waitFor(),
)
testEveryView({ name: 'workers', path: at('/settings?tab=workers') }, (page) =>
  page.getByText('worker-1').waitFor(),
)
