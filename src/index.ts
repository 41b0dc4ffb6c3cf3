import './supported-node.ts'

export type { AdapterQuery, TransactionAdapter } from './effects/adapters/contract.ts'
export type { EffectCall, EffectOptions, Reconciled } from './effects/effect.ts'
export type { FetchOnceInit, RecordedReply } from './effects/fetch-once.ts'
export type { Latest, LatestOptions } from './effects/latest.ts'
export type { PublishOptions } from './effects/message.ts'
export type { AdaptedTransaction, Transaction } from './effects/open-transaction.ts'
export type { StepOptions } from './effects/step.ts'
export type { AdapterOptions, TransactionOptions } from './effects/transaction.ts'
export type { Write } from './effects/write.ts'
export { type Hookonce, hookonce, type Metrics } from './hookonce.ts'
export { type ErrorCode, errorCatalogue, HookonceError } from './model/errors.ts'
export type { Event } from './model/event.ts'
export { NotDone, Permanent, RetryAfter } from './model/handler-errors.ts'
export type { Version, VersionInput, VersionKind } from './model/version.ts'
export type { MountOptions, Mounts, NodeHandler } from './mounts/contract.ts'
export type { LambdaEvent, LambdaHandler, LambdaResult } from './mounts/lambda.ts'
export type { Logger } from './observe/logs.ts'
export type {
  AlertFact,
  AttemptFact,
  ChoreFact,
  CircuitFact,
  CustomObserver as Observer,
  DeliveryFact,
  DiagnosisFact,
  EffectEndFact,
  EffectFact,
  KeyFindingFact,
  LeaseFact,
  MessageFact,
  RescueFact,
  TroubleFact,
  UnattendedFact,
  WarningFact,
} from './observe/observer.ts'
export type {
  CounterMetric,
  GaugeMetric,
  HistogramMetric,
  HistogramSample,
  Labels,
  Metric,
  MetricsSnapshot,
  Sample,
} from './observe/snapshot.ts'
export type { AttemptSpan, DeliverySpan, EffectSpan, MessageSpan, Span, SpanEnd } from './observe/span.ts'
export type { Attention } from './operate/attention.ts'
export type { MissingEvent, ReconcileReport, ReconcileStop } from './operate/reconcile-report.ts'
export type { Options, Sources, SubscriberOptions } from './options.ts'
export type { Context, Handler } from './process/subscriber.ts'
export type { ReconcileOptions, ReconcileProgress } from './reconcile/options.ts'
export type { EventOf } from './sources/typed-events.ts'
