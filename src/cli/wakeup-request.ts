/** A signed wakeup, as every command sends it. Source: API doc, Endpoint 2. */
import type { Clock } from '../base/clock.ts';
import type { SigningCredential } from '../tgv1/sign-request.ts';
import { sendApiRequest, type ApiAnswer } from './api-request.ts';

/** Where the API is, and who asks. */
export interface ApiAccess {
  /** Like `http://127.0.0.1:8080`. */
  readonly origin: string;
  readonly credential: SigningCredential;
  readonly clock: Clock;
}

/** Of a wakeup and of the question what became of it. */
export const wakeupPath = '/v1/device/wakeup-request';

export interface Wakeup {
  readonly deviceId: string;
  /** Like `0x12ab`; undefined: the fixed packet. */
  readonly customData?: string | undefined;
  /** X-Request-ID; undefined: the server makes one. */
  readonly requestId?: string | undefined;
}

/** Throws a CommandError when nobody answers. */
export function submitWakeup({ origin, credential, clock }: ApiAccess, wakeup: Wakeup): Promise<ApiAnswer> {
  const { deviceId, customData, requestId } = wakeup;
  const target = { path: wakeupPath, rawQuery: '' };
  const body = Buffer.from(JSON.stringify({ device_id: deviceId, custom_data: customData }));
  return sendApiRequest({ origin, credential, method: 'POST', target, body, requestId }, clock);
}

/** Null when the answer has none. */
export function requestIdOf({ json }: ApiAnswer): string | null {
  const requestId = json?.['request_id'];
  return typeof requestId === 'string' ? requestId : null;
}
