/**
 * The events of a change of one device in the registry, derived from the entry before and after it. A device that moves to
 * another product is removed from the one and added to the other. Source: docs/events.md.
 */
import type { DeviceTerm, EventDraft, RegistryEventBody } from '../events.ts';
import type { ApplicationId, DeviceId, ProductId } from '../ids.ts';
import type { Device, Labels } from '../registry.ts';

/** An entry before and after the change; null: absent. */
export interface DeviceChange {
  readonly deviceId: DeviceId;
  readonly before: Device | null;
  readonly after: Device | null;
}

/** An event to publish, and the product whose applications receive it. */
export interface RegistryNotice {
  readonly productId: ProductId;
  readonly event: EventDraft & RegistryEventBody;
}

export interface ChangeOrigin {
  /** Null: an operator. */
  readonly by: ApplicationId | null;
  readonly atMs: number;
}

export function registryNotices(
  { deviceId, before, after }: DeviceChange,
  { by, atMs }: ChangeOrigin,
): RegistryNotice[] {
  const notice = (productId: ProductId, body: RegistryEventBody): RegistryNotice => {
    return { productId, event: { ...body, deviceId, atMs, epoch: null } };
  };
  const simple = (type: 'device.registry.added' | 'device.registry.removed', { productId }: Device) =>
    notice(productId, { type, data: { product_id: productId, by } });
  if (before !== null && after !== null && before.productId === after.productId) {
    const { productId } = after;
    const changed = changedTerms(before, after);
    const data = { product_id: productId, by, changed };
    return changed.length === 0 ? [] : [notice(productId, { type: 'device.registry.changed', data })];
  }
  return [
    ...(before === null ? [] : [simple('device.registry.removed', before)]),
    ...(after === null ? [] : [simple('device.registry.added', after)]),
  ];
}

export function changedTerms(before: Device, after: Device): DeviceTerm[] {
  const changed: DeviceTerm[] = [];
  if (before.secret !== after.secret) changed.push('secret');
  if (before.expiresAt !== after.expiresAt) changed.push('expires_at');
  if (before.disabled !== after.disabled) changed.push('disabled');
  if (!areSameLabels(before.labels, after.labels)) changed.push('labels');
  return changed;
}

function areSameLabels(one: Labels = {}, other: Labels = {}): boolean {
  const pairs = Object.entries(one);
  return (
    pairs.length === Object.keys(other).length &&
    pairs.every(([key, value]) => Object.hasOwn(other, key) && other[key] === value)
  );
}
