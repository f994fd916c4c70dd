/**
 * `POST /v1/device/wake` on the ops listener: wakes a sleeping device for an operator. The wakeup goes the way of a backend's,
 * with the limits, the record and the events of an application of the device's product, under a request id of the server's.
 * What became of it is at `GET /v1/wakeups`.
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

/** The application for which an operator acts on an enabled device: `askedFor`, or else the first of its product. */
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

/** `appId`: whose limits and events it is among. */
function encodeWoken(appId: ApplicationId, requestId: RequestId, { deviceId, acceptedAtMs }: WakeupReceipt) {
  return {
    device_id: deviceId,
    app_id: appId,
    request_id: requestId,
    accepted_at: formatTimestamp(acceptedAtMs),
  };
}

/** Codes that a later try may overcome; the others have to be mended. */
const passing: ReadonlySet<WakeupCode> = new Set([42901, 50000, 50204, 50301, 50402]);

const sentences: Partial<Record<WakeupCode, string>> = {
  40412: 'the device is not sleeping: its module has no session here',
  40902: 'the module of the device cannot be woken with what was asked',
  50204: 'the 8 bytes could not be written to the module: it is about to be gone',
  50402: 'whether the 8 bytes reached the module is not known: look at its events',
};

function refuseWake(code: WakeupCode, message: string): AdminRefusal {
  return refuse(passing.has(code) ? 503 : 409, `${sentences[code] ?? message} (${code})`);
}
