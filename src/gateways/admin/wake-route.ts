/**
 * `POST /v1/device/wake` on the ops listener: wakes a sleeping device for an operator. The wakeup is submitted like a backend's,
 * on behalf of an application of the device's product, with its limits, record and events, and gets a request id from the server.
 * `GET /v1/wakeups` has its outcome.
 */
import { z } from 'zod';
import type { Clock } from '../../lib/clock.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { RegistryReader } from '../../core/ports/registry-reader.ts';
import { ownSignature, submitOwnWakeup, type OwnWakeupDeps } from '../../core/wakeups/submit-wakeup.ts';
import type { WakeupCode } from '../../model/codes.ts';
import { generateRequestId, type ApplicationId, type DeviceId, type RequestId } from '../../model/ids.ts';
import type { WakeupReceipt } from '../../model/wakeup.ts';
import { decodeWakeupBody, type WakeupBody } from '../../protocol/rest/device-requests.ts';
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

export const appIdField = z.string().min(1).optional();
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
  if (!woken.ok) return refuseWake(woken.error.code, woken.error.message);
  return encodeWoken(appId, requestId, woken.value);
}

/** The application on whose behalf an operator acts: `askedFor`, or else the first of the device's product. The device must be enabled. */
export function actingApplication(
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
const passing: ReadonlySet<WakeupCode> = new Set([42901, 50000, 50204, 50301, 50402]);

const sentences: Partial<Record<WakeupCode, string>> = {
  40412: 'the device is not sleeping: its module has no session',
  40902: 'the module of the device does not support this wakeup',
  50204: 'the packet could not be written to the module: its connection is closing',
  50402: 'it is unknown whether the packet reached the module: read its events',
};

function refuseWake(code: WakeupCode, message: string): AdminRefusal {
  return refuse(passing.has(code) ? 503 : 409, `${sentences[code] ?? message} (${code})`);
}
