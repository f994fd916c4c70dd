/** What the thread of the webhooks says of itself, over the port: counts in portions, log lines as they come. */
import type { Log } from '../ports/log.ts';
import type { Telemetry, WebhookResultLabel } from '../ports/telemetry.ts';
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
