/**
 * `POST /v1/device/message` on the ops listener: sends a message to an online device on behalf of an application of its product;
 * the answer reports when the device acknowledged it.
 */
import { z } from 'zod';
import type { MessageDeps } from '../../core/messages/deliver-message.ts';
import { sendMessage } from '../../core/messages/send-message.ts';
import { ownSignature } from '../../core/wakeups/submit-wakeup.ts';
import type { MessageCode } from '../../model/codes.ts';
import { generateRequestId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { decodeMessageBody, encodeMessageReceipt } from '../../protocol/rest/device-requests.ts';
import { changeRoute, refuse, type AdminAnswer, type AdminRoute } from '../ops/admin-route.ts';
import { deviceIdField } from './device-changes.ts';
import { actingApplication, appIdField } from './wake-route.ts';

const messageBody = z.strictObject({
  device_id: deviceIdField,
  app_id: appIdField,
  name: z.unknown(),
  payload: z.unknown(),
});
type MessageOrder = z.output<typeof messageBody>;

export function messageRoute(deps: MessageDeps): AdminRoute {
  return changeRoute('/v1/device/message', messageBody, (body) => send(deps, body), {
    answered: { app_id: 'app_id' },
  });
}

/** `took_ms`: from the request to the device's acknowledgement. */
export interface AcknowledgedJson {
  readonly device_id: string;
  readonly id: string;
  readonly acknowledged_at: string;
  readonly app_id: string;
  readonly took_ms: number;
}

async function send(deps: MessageDeps, { app_id: askedFor, ...body }: MessageOrder): Promise<AdminAnswer> {
  const parsed = decodeMessageBody(Buffer.from(JSON.stringify(body)));
  if (!parsed.ok) return refuse(400, parsed.error);
  const { deviceId, name, payload } = parsed.value;
  const acting = actingApplication(deps.registry, deviceId, askedFor);
  if (!acting.ok) return acting.error;
  const appId = acting.value;
  const startedMs = deps.clock.monotonicMs();
  const signed = ownSignature(deps.clock, `message by an operator ${generateRequestId()}`);
  const message = { appId, deviceId, name, payload: JSON.parse(payload) as JsonObject, ...signed };
  const sent = await sendMessage(deps, message);
  if (!sent.ok) {
    const { code, message: reason } = sent.error;
    return refuse(passing.has(code) ? 503 : 409, `${sentences[code] ?? reason} (${code})`);
  }
  const receipt = JSON.parse(encodeMessageReceipt(sent.value)) as Omit<
    AcknowledgedJson,
    'app_id' | 'took_ms'
  >;
  const tookMs = Math.round(deps.clock.monotonicMs() - startedMs);
  return { ...receipt, app_id: appId, took_ms: tookMs } satisfies AcknowledgedJson;
}

const passing: ReadonlySet<MessageCode> = new Set([42901, 50000, 50301, 50402]);

const sentences: Partial<Record<MessageCode, string>> = {
  40412: 'the device is not online: wake it first',
  50402: 'the device did not acknowledge the message in time',
};
