/**
 * Handlers of the routes by which an application lists, adds, changes and removes its devices in the registry.
 * Source: docs/provisioning.md.
 */
import { tooManyLabels } from '../../model/device-terms.ts';
import { assert } from '../../lib/assert.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { refusal, type DeviceChangeCode, type Refusal } from '../../model/codes.ts';
import type { DeviceId } from '../../model/ids.ts';
import type {
  DeviceOrder,
  DeviceOutcome,
  ProvisioningAnswer,
  ProvisioningRequest,
} from '../../model/provisioning.ts';
import {
  encodeAdditions,
  encodeChangedDevice,
  encodeDevicePage,
  encodeRemovedDevice,
  type AdditionEntry,
  type DeviceListingQuery,
} from '../../protocol/rest/provisioning.ts';
import { replyWith, signedBy, type Call, type Handler } from './route.ts';

export const listDevices: Handler<DeviceListingQuery> = (query, { credential }, { devices }) =>
  replyWith(devices.read({ appId: credential.appId, ...query }), encodeDevicePage);

export const addDevices: Handler<readonly AdditionEntry[]> = (entries, call, { provision }) => {
  const orders = entries.flatMap((entry) => (entry.ok ? [entry.value] : []));
  const answer = orders.length === 0 ? succeed([]) : provision(requestOf(call, orders));
  return replyWith(answer, (outcomes) => encodeAdditions(entries, outcomes));
};

export const changeDevice: Handler<DeviceOrder> = async (order, call, { provision }) => {
  const answer = await provision(requestOf(call, [order]));
  return replyWith(outcomeOf(answer), (outcome) => encodeOne(order, outcome));
};

export const removeDevice: Handler<DeviceId> = (deviceId, call, services) =>
  changeDevice({ kind: 'remove', deviceId }, call, services);

function outcomeOf(answer: ProvisioningAnswer): Result<DeviceOutcome, Refusal<DeviceChangeCode>> {
  if (!answer.ok) return answer;
  const [outcome] = answer.value;
  assert(outcome !== undefined && outcome.code !== 40904, 'an order has an outcome, of its kind');
  if (outcome.code === 40003) return fail(refusal(40003, `labels ${tooManyLabels}`));
  return outcome.code === 0 ? succeed(outcome) : fail(refusal(outcome.code));
}

function encodeOne({ kind, deviceId }: DeviceOrder, { device, secret }: DeviceOutcome): string {
  return kind === 'remove' || device === null
    ? encodeRemovedDevice(deviceId)
    : encodeChangedDevice(device, secret);
}

function requestOf(call: Call, orders: readonly DeviceOrder[]): ProvisioningRequest {
  const { appId, ...signed } = signedBy(call);
  const caller = { appId, accessKeyId: call.credential.accessKeyId, from: call.remoteAddress() };
  return { caller, orders, ...signed };
}
