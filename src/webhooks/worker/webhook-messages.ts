/** Everything that crosses between the main thread and the thread of the webhooks. */
import type { Result } from '../../lib/result.ts';
import type { EventId } from '../../model/ids.ts';
import type { Log } from '../../lib/log.ts';
import type { WebhookResultLabel } from '../../telemetry/telemetry.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import type { WebhookAdminRefusal, WebhookAnswers, WebhookName } from '../../core/ports/webhook-admin.ts';
import type { StoreFault } from '../../storage/lmdb/store-fault.ts';

/** To the thread, as its data. */
export interface WebhookTask {
  /** Of the store; the main thread has opened it. */
  readonly directory: string;
  readonly allowLocal: boolean;
  readonly userAgent: string;
  /** The sequence of the newest committed event. */
  readonly head: number;
  /** The main thread keeps the delivery store too, and first. */
  readonly isDeliveryStoreShared: boolean;
}

export type WebhookQuestion =
  | { readonly kind: 'list' }
  | { readonly kind: 'backlog' }
  | { readonly kind: 'show'; readonly name: WebhookName; readonly after: number; readonly limit: number }
  | { readonly kind: 'test'; readonly name: WebhookName }
  /** `eventId` null: the oldest parked ones. */
  | { readonly kind: 'replay'; readonly name: WebhookName; readonly eventId: EventId | null }
  | { readonly kind: 'enable'; readonly name: WebhookName };

export type WebhookReply<Kind extends keyof WebhookAnswers = keyof WebhookAnswers> = Result<
  WebhookAnswers[Kind],
  WebhookAdminRefusal
>;

export type ToWebhooks =
  /** Everything up to this sequence is committed. Only while there are hooks: told for nobody, it is most of what an event costs here. */
  | { readonly kind: 'head'; readonly head: number }
  /** A hook that is new begins behind this head. */
  | { readonly kind: 'registry-changed'; readonly head: number }
  | { readonly kind: 'question'; readonly id: number; readonly question: WebhookQuestion }
  /** Of the `delivery store` with this id; null: it is kept. */
  | { readonly kind: 'kept'; readonly id: number; readonly fault: string | null }
  /** The last one; the thread ends by itself. */
  | { readonly kind: 'stop' };

export type FromWebhooks =
  | { readonly kind: 'ready' }
  /** Before `ready`, and whenever the first hook comes or the last one goes. */
  | { readonly kind: 'hooks'; readonly areThere: boolean }
  | { readonly kind: 'reply'; readonly id: number; readonly reply: WebhookReply }
  /** To be kept, and answered. */
  | { readonly kind: 'delivery store'; readonly id: number; readonly changes: readonly HookChanges[] }
  /** A page of this file of the store cannot be read, for this reason, each time, or LMDB has panicked. */
  | {
      readonly kind: 'fault';
      readonly file: string;
      readonly reason: string;
      readonly fault: StoreFault;
    }
  /** Since the last ones. */
  | { readonly kind: 'counts'; readonly counts: ReadonlyMap<WebhookResultLabel, number> }
  | {
      readonly kind: 'log';
      readonly level: keyof Log;
      readonly fields: object;
      readonly message: string;
    };
