/** The messages between the main thread and the webhook thread. */
import type { Result } from '../../lib/result.ts';
import type { EventId } from '../../model/ids.ts';
import type { Log } from '../../lib/log.ts';
import type { WebhookResultLabel } from '../../telemetry/telemetry.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import type { WebhookAdminRefusal, WebhookAnswers, WebhookName } from '../delivery/webhook-admin.ts';
import type { StoreFault } from '../../storage/lmdb/store-fault.ts';

export interface WebhookTask {
  /** Directory of the store, which the main thread has opened. */
  readonly directory: string;
  readonly allowLocal: boolean;
  readonly userAgent: string;
  readonly head: number;
  /** True: the main thread replicates each change before the thread commits it. */
  readonly isDeliveryStoreShared: boolean;
}

export type WebhookQuestion =
  | { readonly kind: 'list' }
  | { readonly kind: 'backlog' }
  | { readonly kind: 'show'; readonly name: WebhookName; readonly after: number; readonly limit: number }
  | { readonly kind: 'test'; readonly name: WebhookName }
  /** `eventId` null: the oldest parked events. */
  | { readonly kind: 'replay'; readonly name: WebhookName; readonly eventId: EventId | null }
  | { readonly kind: 'enable'; readonly name: WebhookName };

export type WebhookReply<Kind extends keyof WebhookAnswers = keyof WebhookAnswers> = Result<
  WebhookAnswers[Kind],
  WebhookAdminRefusal
>;

export type ToWebhooks =
  /** The log is committed up to this sequence. Sent only while there are hooks, because it is most of an event's cost here. */
  | { readonly kind: 'head'; readonly head: number }
  /** A new hook starts after this head. */
  | { readonly kind: 'registry-changed'; readonly head: number }
  | { readonly kind: 'question'; readonly id: number; readonly question: WebhookQuestion }
  /** Reply to the `delivery store` message with this id; `fault` null: committed. */
  | { readonly kind: 'kept'; readonly id: number; readonly fault: string | null }
  /** The last message; the thread then ends by itself. */
  | { readonly kind: 'stop' };

export type FromWebhooks =
  | { readonly kind: 'ready' }
  /** Sent before `ready`, and when the first hook is added or the last one removed. */
  | { readonly kind: 'hooks'; readonly areThere: boolean }
  | { readonly kind: 'reply'; readonly id: number; readonly reply: WebhookReply }
  /** Changes to replicate; answered by `kept`. */
  | { readonly kind: 'delivery store'; readonly id: number; readonly changes: readonly HookChanges[] }
  /** A page of this store file is unreadable, or LMDB has panicked. */
  | {
      readonly kind: 'fault';
      readonly file: string;
      readonly reason: string;
      readonly fault: StoreFault;
    }
  | { readonly kind: 'counts'; readonly counts: ReadonlyMap<WebhookResultLabel, number> }
  | {
      readonly kind: 'log';
      readonly level: keyof Log;
      readonly fields: object;
      readonly message: string;
    };
