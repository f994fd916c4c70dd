/** Operators' changes to devices in the registry. */
import { z } from 'zod';
import { modify } from '../../core/devices/decide-device.ts';
import type { Result } from '../../lib/result.ts';
import { momentTooFar, tooManyLabels } from '../../model/device-terms.ts';
import { parseDeviceId, parseProductId } from '../../model/ids.ts';
import { unixSecondsMax } from '../../model/provisioning-limits.ts';
import type { Device } from '../../model/registry.ts';
import { decodeModification } from '../../protocol/rest/provisioning.ts';
import type { MissingEntry } from '../../storage/registry/entry-changes.ts';
import type { EntryRules } from '../../storage/registry/entry-reader.ts';
import { parseEntry, writeEntry } from '../../storage/registry/registry-entry.ts';
import { maskSecrets } from '../../storage/registry/registry-export.ts';
import { generateSecret, type RegistryWriter } from '../../storage/registry/registry-write.ts';
import {
  changeRoute,
  answerEntry,
  parsedField,
  refuse,
  refuseEntry,
  type AdminAnswer,
  type AdminRoute,
} from '../ops/admin-route.ts';

export interface DeviceChangeDeps {
  readonly writer: Pick<RegistryWriter, 'putDevice' | 'changeDevice' | 'update' | 'remove'>;
  readonly rules: EntryRules;
  /** Called after every change to a device; ends the sessions and calls that the device may no longer have. */
  changed(): void;
}

export const deviceIdField = parsedField(parseDeviceId, '1-255 bytes of valid UTF-8');
const productIdField = parsedField(parseProductId, '1-255 bytes of UTF-8 without control characters');

const deviceBody = z.strictObject({
  device_id: deviceIdField,
  product_id: z.string().min(1),
  secret: z.string().min(1).optional(),
  expires_at: z.number().int().nonnegative().max(unixSecondsMax, momentTooFar).nullable().default(null),
  disabled: z.boolean().default(false),
});
const disableBody = z.strictObject({ device_id: deviceIdField, disabled: z.boolean().default(true) });
/** The remaining fields are those of a change by an application. */
const setBody = z.looseObject({ device_id: deviceIdField, product_id: productIdField.optional() });

export function deviceChangeRoutes(deps: DeviceChangeDeps): AdminRoute[] {
  return [
    changeRoute('/v1/device/add', deviceBody, (body) => addDevice(deps, body)),
    changeRoute('/v1/device/disable', disableBody, (body) => disableDevice(deps, body), {
      answered: { disabled: 'device.disabled' },
    }),
    changeRoute('/v1/device/set', setBody, (body) => setDevice(deps, body), { action: 'device.change' }),
    changeRoute('/v1/device/remove', z.strictObject({ device_id: deviceIdField }), async (body) => {
      const removed = await deps.writer.remove('device', body.device_id);
      deps.changed();
      return answerDevice(removed, false);
    }),
  ];
}

async function addDevice(deps: DeviceChangeDeps, body: z.output<typeof deviceBody>): Promise<AdminAnswer> {
  const device = parseEntry('device', { ...body, secret: body.secret ?? generateSecret() }, deps.rules);
  if (!device.ok) return refuseEntry(device.error);
  const added = await deps.writer.putDevice(device.value);
  deps.changed();
  return answerDevice(added, body.secret === undefined);
}

/** A disabled device counts as nonexistent, so its sessions and calls end. */
async function disableDevice(
  deps: DeviceChangeDeps,
  { device_id: id, disabled }: z.output<typeof disableBody>,
): Promise<AdminAnswer> {
  const changed = await deps.writer.update('device', id, (device) => ({ ...device, disabled }));
  deps.changed();
  return answerDevice(changed, false);
}

/** Follows the rules of a change by an application, but may also change the product. */
async function setDevice(
  deps: DeviceChangeDeps,
  { product_id: productId, ...body }: z.output<typeof setBody>,
): Promise<AdminAnswer> {
  const order = decodeModification(Buffer.from(JSON.stringify(body)), deps.rules);
  if (!order.ok) return refuse(400, order.error);
  let secret: string | null = null;
  let isRefused = false;
  const set = await deps.writer.changeDevice(body.device_id, (before) => {
    const { outcome, change } = modify(order.value, before, { makeSecret: generateSecret });
    secret = outcome.secret;
    isRefused = outcome.code !== 0;
    const after = change?.after ?? before;
    return isRefused || productId === undefined ? after : { ...after, productId };
  });
  deps.changed();
  if (isRefused) return refuse(400, `labels ${tooManyLabels}`);
  return answerDevice(set, secret !== null);
}

/** `isSecretFresh`: the server generated the secret, and this answer alone contains it. */
function answerDevice(outcome: Result<Device, MissingEntry>, isSecretFresh: boolean): AdminAnswer {
  return answerEntry(outcome, (changed) => {
    const device = writeEntry('device', changed);
    return { device: isSecretFresh ? device : maskSecrets(device) };
  });
}
