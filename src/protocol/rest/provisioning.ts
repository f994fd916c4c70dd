/**
 * Requests about devices of the registry: queries and bodies in, `data` out, of GET, POST, PATCH and DELETE /v1/devices. An
 * answer contains a secret only if the request generated it. Source: docs/provisioning.md.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { codeTexts } from '../../model/codes.ts';
import { labelsFault, labelsOf, secondsFault, secretFault } from '../../model/device-terms.ts';
import { parseProductId, parseDeviceId, type DeviceId, type ProductId } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { deviceIdBytesMax } from '../../model/limits.ts';
import { devicesAddedMax, devicesPageDefault, devicesPageMax } from '../../model/provisioning-limits.ts';
import type {
  DeviceAddition,
  DeviceEntry,
  DeviceListing,
  DeviceModification,
  DeviceOutcome,
  DevicePage,
} from '../../model/provisioning.ts';
import type { Labels } from '../../model/registry.ts';
import { isJsonObject, utf8Length } from '../../lib/utf8.ts';
import { findMistakenField } from './request-fields.ts';
import { decodeDeviceId, decodeLimit, parseJsonObject, parseQuery } from './shared-fields.ts';

export interface SecretRules {
  readonly allowShortSecrets: boolean;
}

export type DeviceListingQuery = Omit<DeviceListing, 'appId'>;

export function decodeDeviceListing(rawQuery: string): Result<DeviceListingQuery, string> {
  const query = parseQuery(rawQuery, 'devices-list');
  if (!query.ok) return query;
  const asked = query.value;
  const productId = decodeOptional(asked.get('product_id'), decodeProductId);
  if (!productId.ok) return productId;
  const after = decodeOptional(asked.get('after'), decodeCursor);
  if (!after.ok) return after;
  const limit = decodeLimit(asked.get('limit'), devicesPageDefault, devicesPageMax);
  if (!limit.ok) return limit;
  const prefix = asked.get('prefix') ?? '';
  if (utf8Length(prefix) > deviceIdBytesMax) return fail(`prefix must be at most ${deviceIdBytesMax} bytes`);
  const online = asked.get('online');
  if (online !== undefined && online !== 'true' && online !== 'false')
    return fail('online must be true or false');
  const isOnline = online === undefined ? null : online === 'true';
  return succeed({ productId: productId.value, prefix, isOnline, after: after.value, limit: limit.value });
}

function decodeOptional<Value>(
  text: string | undefined,
  decode: (text: string) => Result<Value, string>,
): Result<Value | null, string> {
  return text === undefined ? succeed(null) : decode(text);
}

/** A cursor is opaque to callers: a version byte and the id of the last device examined, as base64url. */
const cursorVersion = 1;
const cursorForm = /^[A-Za-z0-9_-]{3,342}$/;

function encodeCursor(deviceId: DeviceId): string {
  return Buffer.concat([Buffer.of(cursorVersion), Buffer.from(deviceId)]).toString('base64url');
}

function decodeCursor(text: string): Result<DeviceId, string> {
  const bytes = cursorForm.test(text) ? Buffer.from(text, 'base64url') : Buffer.of();
  const deviceId = bytes[0] === cursorVersion ? parseDeviceId(bytes.toString('utf8', 1)) : null;
  // Bytes that are not UTF-8 would not round-trip.
  return deviceId !== null && encodeCursor(deviceId) === text
    ? succeed(deviceId)
    : fail('after must be the next of an earlier answer');
}

/** A wrong entry is reported next to the valid ones. */
export type AdditionEntry =
  | { readonly ok: true; readonly value: DeviceAddition }
  | { readonly ok: false; readonly deviceId: string | null; readonly reason: string };

export function decodeAdditions(
  body: Uint8Array,
  rules: SecretRules,
): Result<readonly AdditionEntry[], string> {
  const object = parseJsonObject(body, 'devices-add');
  if (!object.ok) return object;
  const devices = object.value['devices'];
  if (!Array.isArray(devices))
    return fail(devices === undefined ? 'devices is missing' : 'devices must be a list');
  if (devices.length < 1 || devices.length > devicesAddedMax)
    return fail(`devices must be 1-${devicesAddedMax} entries`);
  return succeed((devices as readonly unknown[]).map((entry) => decodeEntry(entry, rules)));
}

function decodeEntry(entry: unknown, rules: SecretRules): AdditionEntry {
  if (!isJsonObject(entry)) return { ok: false, deviceId: null, reason: 'an entry must be a JSON object' };
  const addition = decodeAddition(entry, rules);
  if (addition.ok) return addition;
  const given = entry['device_id'];
  const deviceId = typeof given === 'string' ? parseDeviceId(given) : null;
  return { ok: false, deviceId, reason: addition.error };
}

function decodeAddition(fields: JsonObject, rules: SecretRules): Result<DeviceAddition, string> {
  const mistaken = findMistakenField('added-device', Object.keys(fields));
  if (mistaken !== null) return fail(mistaken);
  const deviceId = decodeDeviceId(fields['device_id']);
  if (!deviceId.ok) return deviceId;
  const productId = decodeProductId(fields['product_id']);
  if (!productId.ok) return productId;
  const terms = decodeTerms(fields, rules);
  if (!terms.ok) return terms;
  const { secret = null, expiresAt = null, disabled = false } = terms.value;
  const labels = fields['labels'] ?? {};
  const fault = labelsFault(labels);
  if (fault !== null) return fail(`labels ${fault}`);
  return succeed({
    kind: 'add',
    deviceId: deviceId.value,
    productId: productId.value,
    secret,
    expiresAt,
    disabled,
    labels: labelsOf(Object.entries(labels as Labels)) ?? null,
  });
}

function decodeProductId(value: unknown): Result<ProductId, string> {
  if (value === undefined) return fail('product_id is missing');
  const productId = typeof value === 'string' ? parseProductId(value) : null;
  return productId === null
    ? fail('product_id must be 1-255 bytes of UTF-8 without control characters')
    : succeed(productId);
}

interface Terms {
  secret?: string;
  expiresAt?: number | null;
  disabled?: boolean;
}

function decodeTerms(fields: JsonObject, rules: SecretRules): Result<Terms, string> {
  const { secret, expires_at: expiresAt, disabled } = fields;
  const terms: Terms = {};
  if (secret !== undefined) {
    if (typeof secret !== 'string') return fail('secret must be a string');
    const fault = secretFault(secret, rules.allowShortSecrets);
    if (fault !== null) return fail(`secret ${fault}`);
    terms.secret = secret;
  }
  if (expiresAt !== undefined) {
    const fault = expiresAt === null ? null : secondsFault(expiresAt);
    if (fault !== null) return fail(`expires_at ${fault}`);
    terms.expiresAt = expiresAt as number | null;
  }
  if (disabled !== undefined) {
    if (typeof disabled !== 'boolean') return fail('disabled must be true or false');
    terms.disabled = disabled;
  }
  return succeed(terms);
}

export function decodeModification(body: Uint8Array, rules: SecretRules): Result<DeviceModification, string> {
  const object = parseJsonObject(body, 'device-change');
  if (!object.ok) return object;
  const { device_id: id, secret, labels, ...others } = object.value;
  const deviceId = decodeDeviceId(id);
  if (!deviceId.ok) return deviceId;
  const terms = decodeTerms(secret === true ? others : { ...others, secret }, rules);
  if (!terms.ok) return terms;
  const fault = labels === undefined ? null : labelsFault(labels, true);
  if (fault !== null) return fail(`labels ${fault}`);
  return succeed({
    kind: 'change',
    deviceId: deviceId.value,
    ...terms.value,
    ...(secret === true && { secret }),
    ...(labels !== undefined && { labels: labels as Record<string, string | null> }),
  });
}

function shownEntry({ deviceId, productId, expiresAt, disabled, labels = {} }: DeviceEntry): object {
  return { device_id: deviceId, product_id: productId, expires_at: expiresAt, disabled, labels };
}

export function encodeDevicePage({ devices, next }: DevicePage): string {
  return JSON.stringify({
    devices: devices.map(shownEntry),
    next: next === null ? null : encodeCursor(next),
  });
}

/** `outcomes`: of the valid entries, in order. */
export function encodeAdditions(
  entries: readonly AdditionEntry[],
  outcomes: readonly DeviceOutcome[],
): string {
  const told = outcomes.values();
  const devices = entries.map((entry) => {
    if (!entry.ok) return { device_id: entry.deviceId, code: 40003, message: entry.reason };
    const { value: outcome } = told.next();
    return outcome === undefined ? {} : shownOutcome(outcome);
  });
  return JSON.stringify({ devices });
}

function shownOutcome({ deviceId, code, secret, isChanged }: DeviceOutcome): object {
  const message = code === 42901 ? 'the application has reached its maximum of devices' : codeTexts[code];
  const told = { device_id: deviceId, code, message };
  if (code !== 0) return told;
  return { ...told, created: isChanged, ...(secret !== null && { secret }) };
}

export function encodeChangedDevice(device: DeviceEntry, secret: string | null): string {
  return JSON.stringify({ ...shownEntry(device), ...(secret !== null && { secret }) });
}

export function encodeRemovedDevice(deviceId: DeviceId): string {
  return JSON.stringify({ device_id: deviceId, removed: true });
}
