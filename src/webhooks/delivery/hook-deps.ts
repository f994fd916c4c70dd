/** The dependencies that all hooks share. */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../core/ports/log.ts';
import type { Telemetry } from '../../telemetry/telemetry.ts';
import type { WebhookRegistry } from '../../core/ports/webhook-sources.ts';
import type { WriteBuffer } from './write-buffer.ts';
import type { WebhookLimits, RetrySchedule } from './limits.ts';
import type { LogTail } from './log-tail.ts';

export interface HookDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, 'webhookDelivery'>;
  readonly registry: WebhookRegistry;
  readonly tail: LogTail;
  readonly writeBuffer: WriteBuffer;
  readonly limits: WebhookLimits;
  readonly schedule: RetrySchedule;
}
