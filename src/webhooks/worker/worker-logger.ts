/** What the thread of the webhooks says over the port: counts in portions, log lines as they come, its book to be kept. */
import type { Log } from '../../core/ports/log.ts';
import type { Telemetry, WebhookResultLabel } from '../../telemetry/telemetry.ts';
import type { HookChanges } from '../../core/ports/delivery-store.ts';
import type { FromWebhooks } from './webhook-messages.ts';

type Send = (message: FromWebhooks) => void;

export interface Counts extends Pick<Telemetry, 'webhookDelivery'> {
  /** Sends what was counted since the last time. */
  flush(): void;
}

export function countsOverPort(send: Send): Counts {
  let counts = new Map<WebhookResultLabel, number>();
  return {
    webhookDelivery: (result, count) => void counts.set(result, (counts.get(result) ?? 0) + count),
    flush() {
      if (counts.size > 0) send({ kind: 'counts', counts });
      counts = new Map();
    },
  };
}

export function logOverPort(send: Send): Log {
  const at =
    (level: keyof Log): Log[keyof Log] =>
    (fields, message) =>
      send({ kind: 'log', level, fields, message });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export interface Keeping {
  /** Resolves when the main thread has kept it. */
  keep(changes: readonly HookChanges[]): Promise<void>;
  /** The main thread's answer; `fault` null: it is kept. */
  kept(id: number, fault: string | null): void;
}

export function deliveryStoreOverPort(send: Send): Keeping {
  const asked = new Map<number, (fault: string | null) => void>();
  let made = 0;
  return {
    keep: (changes) =>
      new Promise((resolve, reject) => {
        const id = (made += 1);
        asked.set(id, (fault) => (fault === null ? resolve() : reject(new Error(fault))));
        send({ kind: 'book', id, changes });
      }),
    kept(id, fault) {
      asked.get(id)?.(fault);
      asked.delete(id);
    },
  };
}
