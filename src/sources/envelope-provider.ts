import type { ProviderDescription } from './description.ts'
import type { SourceOptions } from './options.ts'
import type { SigningSource } from './sign.ts'

/**
 * A provider whose payload is an envelope: `type` names the event, and `data` is its object. With a
 * union of the SDK's events, each event has the data of its type, and an unknown type does not
 * compile: `clerk<WebhookEvent>({ secret })`.
 */
export interface EnvelopeProvider<Type extends string> {
  (options: SourceOptions): SigningSource<unknown, unknown, Type>
  <SdkEvent extends Envelope>(
    options: SourceOptions,
  ): SigningSource<SdkEvent, SdkEvent['data'], SdkEvent['type'], EnvelopeShapes<SdkEvent>>
  // Repeated, because `ReturnType<typeof clerk>` uses the last signature.
  (options: SourceOptions): SigningSource<unknown, unknown, Type>
  readonly description: ProviderDescription
}

interface Envelope {
  readonly type: string
  readonly data: unknown
}

/** One member of a union may stand for several types. */
type EnvelopeShapes<SdkEvent extends Envelope> = {
  readonly [Type in SdkEvent['type']]: {
    readonly payload: EventOfType<SdkEvent, Type>
    readonly object: EventOfType<SdkEvent, Type>['data']
  }
}

type EventOfType<SdkEvent extends Envelope, Type> = SdkEvent extends unknown
  ? Type extends SdkEvent['type']
    ? SdkEvent
    : never
  : never
