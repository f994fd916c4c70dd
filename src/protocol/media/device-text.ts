/**
 * What a device may say of its call, from the bytes of a text message to a report. Strict about the type,
 * blind to fields it does not know. Source: calls-and-media.md, Legs.
 */
import { decodeJsonObject } from '../../lib/json-object.ts';
import { fail, succeed, type Result } from '../../lib/result.ts';
import type { CallEndReason, CallReport } from '../../model/call.ts';

const accepted: CallReport = { kind: 'progress', state: 'attempting' };
const rejected: CallReport = { kind: 'end', reason: 'rejected' };

/**
 * By the number that the device says: 0 unknown, 1 manual, 2 system phone, 3 other app, 4 device, 5 busy, 6 timeout,
 * 7 reject, 8 exception.
 */
const hangupReasons: readonly CallEndReason[] = [
  'hangup_device',
  'hangup_device',
  'hangup_device',
  'hangup_device',
  'hangup_device',
  'busy',
  'timeout',
  'rejected',
  'error',
];
const unsaidReason = 0;

/** Keeps nothing of `text`; or what is wrong with it, and what is expected. */
export function parseDeviceText(text: Uint8Array): Result<CallReport, string> {
  const decoded = decodeJsonObject(text);
  if (!decoded.ok) return fail(`a text message is a JSON object with a type: ${decoded.error}`);
  const { type, reason = unsaidReason } = decoded.value;
  switch (type) {
    case 'accept':
      return succeed(accepted);
    case 'reject':
      return succeed(rejected);
    case 'hangup':
      return succeed(hungUp(reason));
    default:
      return fail('the type of a device is accept, reject or hangup');
  }
}

/** A device that hangs up has hung up, whatever its number says. */
function hungUp(given: unknown): CallReport {
  const known = typeof given === 'number' ? hangupReasons[given] : undefined;
  return { kind: 'end', reason: known ?? 'hangup_device' };
}
