/**
 * Decides how an application's order adds, changes or removes a device of the registry, on the entries of one moment and without
 * effects. Adding an identical device changes nothing; adding a different one is 40904. A device of another application's product
 * is 40302, and a disabled one of those is answered as unknown, as everywhere. Source: docs/provisioning.md.
 */
import { assert } from '../../lib/assert.ts';
import type { ApplicationId } from '../../model/ids.ts';
import { mergeLabels } from '../../model/device-terms.ts';
import { deviceLabelsMax } from '../../model/provisioning-limits.ts';
import {
  entryOf,
  type DeviceAddition,
  type DeviceModification,
  type DeviceOrder,
  type DeviceOutcome,
  type DeviceOutcomeCode,
} from '../../model/provisioning.ts';
import { isOfApplication, type Device } from '../../model/registry.ts';
import { changedTerms, type DeviceChange } from '../../model/state/registry-event.ts';
import type { DecidedChanges, DeviceReads } from '../ports/device-registry.ts';

export interface DecisionTerms {
  readonly appId: ApplicationId;
  /** True: the request was executed before; answer the current state and change nothing. */
  readonly isRepeat: boolean;
  readonly makeSecret: () => string;
  readonly devicesMax: number | null;
}

interface Decision {
  readonly outcome: DeviceOutcome;
  readonly change: DeviceChange | null;
}

/** Decides the orders one after the other: each sees the results of the earlier ones. */
export function decideDevices(
  reads: DeviceReads,
  orders: readonly DeviceOrder[],
  terms: DecisionTerms,
): DecidedChanges<readonly DeviceOutcome[]> {
  const decided = new Map<string, Device | null>();
  const changes: DeviceChange[] = [];
  const { appId, devicesMax } = terms;
  let room = devicesMax === null ? Infinity : devicesMax - reads.countDevices(appId);
  const result = orders.map((order) => {
    const { deviceId } = order;
    const known = decided.get(deviceId);
    const before = known === undefined ? reads.findDevice(deviceId) : known;
    const { outcome, change } = decide(reads, order, before, terms);
    if (change === null) return outcome;
    if (change.before === null) {
      if (room <= 0) return unchanged(order, 42901).outcome;
      room -= 1;
    }
    decided.set(deviceId, change.after);
    changes.push(change);
    return outcome;
  });
  return { result, changes };
}

function decide(
  reads: DeviceReads,
  order: DeviceOrder,
  before: Device | null,
  terms: DecisionTerms,
): Decision {
  if (order.kind === 'add') return add(reads, order, before, terms);
  if (before === null) return unchanged(order, terms.isRepeat && order.kind === 'remove' ? 0 : 40403);
  if (!isOwn(reads, before.productId, terms.appId)) return unchanged(order, before.disabled ? 40403 : 40302);
  if (terms.isRepeat) return stays(before);
  return order.kind === 'change' ? modify(order, before, terms) : becomes(before, null, null);
}

function add(
  reads: DeviceReads,
  order: DeviceAddition,
  before: Device | null,
  { appId, isRepeat, makeSecret }: DecisionTerms,
): Decision {
  if (!isOwn(reads, order.productId, appId)) return unchanged(order, 40302);
  if (before === null) {
    if (isRepeat) return unchanged(order, 40403);
    const secret = order.secret ?? makeSecret();
    return becomes(null, additionOf(order, secret), order.secret === null ? secret : null);
  }
  if (!isOwn(reads, before.productId, appId)) return unchanged(order, 40302);
  const same = additionOf(order, order.secret ?? before.secret);
  const isSame = before.productId === same.productId && changedTerms(before, same).length === 0;
  return isSame ? stays(before) : unchanged(order, 40904);
}

function additionOf(
  { deviceId, productId, expiresAt, disabled, labels }: DeviceAddition,
  secret: string,
): Device {
  const device = { deviceId, productId, secret, expiresAt, disabled };
  return labels === null ? device : { ...device, labels };
}

/** The rules of a change, shared by the API and operators. */
export function modify(
  order: DeviceModification,
  before: Device,
  { makeSecret }: Pick<DecisionTerms, 'makeSecret'>,
): Decision {
  const { expiresAt = before.expiresAt, disabled = before.disabled } = order;
  const made = order.secret === true ? makeSecret() : null;
  const secret = made ?? (typeof order.secret === 'string' ? order.secret : before.secret);
  const { deviceId, productId } = before;
  const labels = order.labels === undefined ? before.labels : mergeLabels(before.labels, order.labels);
  if (Object.keys(labels ?? {}).length > deviceLabelsMax) return unchanged(order, 40003);
  const device = { deviceId, productId, secret, expiresAt, disabled };
  const after = labels === undefined ? device : { ...device, labels };
  return changedTerms(before, after).length === 0 ? stays(before) : becomes(before, after, made);
}

/** `after` null: removed. `secret`: a generated one, shown this once. */
function becomes(before: Device | null, after: Device | null, secret: string | null): Decision {
  const device = after ?? before;
  assert(device !== null, 'a change has a device before or after it');
  const { deviceId } = device;
  const outcome = { deviceId, code: 0, device: entryOf(device), secret, isChanged: true } as const;
  return { outcome, change: { deviceId, before, after } };
}

function stays(device: Device): Decision {
  return unchanged(device, 0, entryOf(device));
}

/** `device`: as it is; null: refused, or removed before. */
function unchanged(
  { deviceId }: Pick<Device, 'deviceId'>,
  code: DeviceOutcomeCode,
  device: DeviceOutcome['device'] = null,
): Decision {
  return { outcome: { deviceId, code, device, secret: null, isChanged: false }, change: null };
}

function isOwn(reads: DeviceReads, productId: Device['productId'], appId: ApplicationId): boolean {
  return isOfApplication(reads.findProduct(productId), appId);
}
