import '../supported-node.ts'

export type { JobView } from '../ledger/testing/progress.ts'
export type { TestClock } from './clock.ts'
export type {
  FaultOptions,
  Frozen,
  HooksFactory,
  PermutationOptions,
  PermutationReport,
  Permutations,
  RealProcess,
  ScheduledEvent,
  TestApp,
  TestHooks,
  TestHooksOptions,
} from './contract.ts'
export type { Deliver, Delivered, DeliverOptions, Overrides } from './deliver.ts'
export type { Downstream, DownstreamCall, DownstreamCalls, DownstreamReply } from './downstream.ts'
export type { Duration } from './duration.ts'
export type { EffectHistory } from './effects.ts'
export type { ArmedFault, CrashPoint } from './faults.ts'
export type { JobFilter, WaitOptions } from './journal.ts'
export { assertHappened, matchers, type Occurrences, type TestMatchers } from './matchers.ts'
export { type TestGatewayOptions, testGateway } from './test-gateway.ts'
export { testHooks } from './test-hooks.ts'
export {
  type KeyedApp,
  type KeyedExchange,
  type KeyedPoint,
  type KeyedReply,
  type KeyedRequest,
  type TestKeys,
  type TestKeysOptions,
  testKeys,
} from './test-keys.ts'
