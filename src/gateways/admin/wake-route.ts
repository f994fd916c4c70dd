/**
 * `POST /v1/device/wake` on the ops listener: wakes a sleeping device for an operator. The wakeup is submitted like a backend's,
 * on behalf of an application of the device's product, with its limits, record and events, and gets a request id from the server.
 * `GET /v1/wakeups` has its outcome.
 *
 * `POST /v1/device/message` sends a message to an online device, in the same way; the answer reports when the device acknowledged
 * it.
 */
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import type { MessageDeps } from '../../core/messages/deliver-message.ts';
import { sendMessage } from '../../core/messages/send-message.ts';
import { ownSignature, submitOwnWakeup, type OwnWakeupDeps } from '../../core/wakeups/submit-wakeup.ts';
import type { FailureCode, Refusal } from '../../model/codes.ts';
import type { JsonObject } from '../../model/json.ts';
import { generateRequestId, type ApplicationId, type DeviceId, type RequestId } from '../../model/ids.ts';
import type { MessageReceipt } from '../../model/message.ts';
import type { WakeupReceipt } from '../../model/wakeup.ts';
import { decodeMessageBody, decodeWakeupBody, type WakeupBody } from '../../protocol/rest/device-requests.ts';
import { formatTimestamp } from '../../protocol/rest/shared-fields.ts';
import {
  changeRoute,
  missingEntry,
  refuse,
  type AdminAnswer,
  type AdminRefusal,
  type AdminRoute,
} from '../ops/admin-route.ts';
import { deviceIdField } from './device-changes.ts';

export interface WakeRouteDeps extends OwnWakeupDeps {
  readonly clock: Clock;
  readonly registry: RegistryReader;
}

const appIdField = z.string().min(1).optional();
const wakeBody = z.strictObject({
  device_id: deviceIdField,
  app_id: appIdField,
  custom_data: z.unknown().optional(),
});

export function wakeRoute(deps: WakeRouteDeps): AdminRoute {
  return changeRoute(
    '/v1/device/wake',
    wakeBody,
    ({ app_id: appId, ...body }) => {
      const parsed = decodeWakeupBody(Buffer.from(JSON.stringify(body)));
      return parsed.ok ? wake(deps, parsed.value, appId) : Promise.resolve(refuse(400, parsed.error));
    },
    { answered: { app_id: 'app_id', request_id: 'request_id' } },
  );
}

async function wake(
  deps: WakeRouteDeps,
  asked: WakeupBody,
  askedFor: string | undefined,
): Promise<AdminAnswer> {
  const acting = actingApplication(deps.registry, asked.deviceId, askedFor);
  if (!acting.ok) return acting.error;
  const appId = acting.value;
  const requestId = generateRequestId();
  const signed = ownSignature(deps.clock, `wakeup by an operator ${requestId}`);
  const woken = await submitOwnWakeup(deps, { ...asked, appId, requestId, ...signed });
  if (!woken.ok) return refuseOrder(woken.error, wakeSentences);
  return encodeWoken(appId, requestId, woken.value);
}

/** The application on whose behalf an operator acts: `askedFor`, or else the first of the device's product. The device must be enabled. */
function actingApplication(
  registry: RegistryReader,
  deviceId: DeviceId,
  askedFor: string | undefined,
): Result<ApplicationId, AdminRefusal> {
  const device = registry.findDevice(deviceId);
  if (device === null) return fail(missingEntry({ kind: 'device', id: deviceId }));
  if (device.disabled) return fail(refuse(409, 'the device is disabled: enable it first'));
  const appId = (askedFor ?? registry.findProduct(device.productId)?.appIds[0]) as ApplicationId | undefined;
  return appId === undefined
    ? fail(refuse(409, `no application has the product ${device.productId}`))
    : succeed(appId);
}

export type WokenJson = ReturnType<typeof encodeWoken>;

/** `appId`: the application that the wakeup is charged to. */
function encodeWoken(appId: ApplicationId, requestId: RequestId, { deviceId, acceptedAtMs }: WakeupReceipt) {
  return {
    device_id: deviceId,
    app_id: appId,
    request_id: requestId,
    accepted_at: formatTimestamp(acceptedAtMs),
  };
}

/** Codes for which a retry may succeed; for the others something has to be fixed first. */
const passing: ReadonlySet<FailureCode> = new Set([42901, 50000, 50204, 50301, 50402]);

type Sentences = Readonly<Partial<Record<FailureCode, string>>>;

function refuseOrder({ code, message }: Refusal, sentences: Sentences): AdminRefusal {
  return refuse(passing.has(code) ? 503 : 409, `${sentences[code] ?? message} (${code})`);
}

const wakeSentences: Sentences = {
  40412: 'the device is not sleeping: its module has no session',
  40902: 'the module of the device does not support this wakeup',
  50204: 'the packet could not be written to the module: its connection is closing',
  50402: 'it is unknown whether the packet reached the module: read its events',
};

const messageSentences: Sentences = {
  40412: 'the device is not online: wake it first',
  50402: 'the device did not acknowledge the message in time',
};

const messageBody = z.strictObject({
  device_id: deviceIdField,
  app_id: appIdField,
  name: z.unknown(),
  payload: z.unknown(),
});

export function messageRoute(deps: MessageDeps): AdminRoute {
  return changeRoute('/v1/device/message', messageBody, (body) => send(deps, body), {
    answered: { app_id: 'app_id' },
  });
}

async function send(
  deps: MessageDeps,
  { app_id: askedFor, ...body }: z.output<typeof messageBody>,
): Promise<AdminAnswer> {
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
  if (!sent.ok) return refuseOrder(sent.error, messageSentences);
  return encodeAcknowledged(sent.value, appId, Math.round(deps.clock.monotonicMs() - startedMs));
}

export type AcknowledgedJson = ReturnType<typeof encodeAcknowledged>;

/** `tookMs`: from the request to the device's acknowledgement. */
function encodeAcknowledged(
  { deviceId, id, acknowledgedAtMs }: MessageReceipt,
  appId: ApplicationId,
  tookMs: number,
) {
  return {
    device_id: deviceId,
    id,
    acknowledged_at: formatTimestamp(acknowledgedAtMs),
    app_id: appId,
    took_ms: tookMs,
  };
}
