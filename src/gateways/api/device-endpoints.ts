/**
 * The endpoints by which an application provisions its devices: lists, adds, changes and removes them in the registry.
 * Source: docs/provisioning.md.
 */
import { tooManyLabels } from '../../model/device-terms.ts';
import type { DeviceList } from '../../core/devices/list-devices.ts';
import { assert } from '../../lib/assert.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import { refusal, type DeviceChangeCode, type Refusal } from '../../model/codes.ts';
import type {
  DeviceOrder,
  DeviceOutcome,
  ProvisioningAnswer,
  ProvisioningRequest,
} from '../../model/provisioning.ts';
import {
  decodeAdditions,
  decodeDeviceListing,
  decodeModification,
  encodeAdditions,
  encodeChangedDevice,
  encodeDevicePage,
  encodeRemovedDevice,
  type SecretRules,
} from '../../protocol/rest/provisioning.ts';
import { decodeDeviceQuery } from '../../protocol/rest/shared-fields.ts';
import { coded, refuseParameter, replyWith, type Call, type Reply, type Route } from './route.ts';

/** Carries a request out where the registry is changed. */
export type Provision = (request: ProvisioningRequest) => Promise<ProvisioningAnswer>;

export interface ProvisioningDeps {
  readonly provision: Provision;
  readonly secretRules: SecretRules;
}

const path = '/v1/devices';

const replyPage = replyWith(encodeDevicePage);

export function devicesListRoute(list: Pick<DeviceList, 'read'>): Route {
  return {
    name: 'devices-list',
    method: 'GET',
    path,
    permission: 'device:read',
    ...coded,
    handle(call) {
      const query = decodeDeviceListing(call.query);
      if (!query.ok) return refuseParameter(query.error);
      return replyPage(list.read({ appId: call.credential.appId, ...query.value }));
    },
  };
}

export function devicesAddRoute(deps: ProvisioningDeps): Route {
  return {
    name: 'devices-add',
    method: 'POST',
    path,
    permission: 'device:write',
    ...coded,
    handle(call) {
      const entries = decodeAdditions(call.body, deps.secretRules);
      if (!entries.ok) return refuseParameter(entries.error);
      const orders = entries.value.flatMap((entry) => (entry.ok ? [entry.value] : []));
      const reply = replyWith((outcomes: readonly DeviceOutcome[]) =>
        encodeAdditions(entries.value, outcomes),
      );
      return reply(orders.length === 0 ? succeed([]) : deps.provision(requestOf(call, orders)));
    },
  };
}

export function deviceChangeRoute(deps: ProvisioningDeps): Route {
  return {
    name: 'device-change',
    method: 'PATCH',
    path,
    permission: 'device:write',
    ...coded,
    handle(call) {
      const order = decodeModification(call.body, deps.secretRules);
      return order.ok ? carryOutOne(deps, call, order.value) : refuseParameter(order.error);
    },
  };
}

export function deviceRemoveRoute(deps: ProvisioningDeps): Route {
  return {
    name: 'device-remove',
    method: 'DELETE',
    path,
    permission: 'device:write',
    ...coded,
    handle(call) {
      const deviceId = decodeDeviceQuery(call.query);
      if (!deviceId.ok) return refuseParameter(deviceId.error);
      return carryOutOne(deps, call, { kind: 'remove', deviceId: deviceId.value });
    },
  };
}

async function carryOutOne({ provision }: ProvisioningDeps, call: Call, order: DeviceOrder): Promise<Reply> {
  const answer = await provision(requestOf(call, [order]));
  return replyWith((outcome: DeviceOutcome) => encodeOne(order, outcome))(outcomeOf(answer));
}

/** Of one order. */
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
  const { credential, signature, signatureExpiresMs } = call;
  const { appId, accessKeyId } = credential;
  const caller = { appId, accessKeyId, from: call.remoteAddress() };
  return { caller, orders, signature, signatureExpiresMs };
}
