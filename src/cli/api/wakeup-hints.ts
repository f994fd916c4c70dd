/** What a wakeup's answer means to a person, and what to do next. Source: API doc, Endpoint 2; decisions.md, Wakeup. */
import type { ApiResult, WakeupData } from '../../client/reveille-client.ts';
import type { FailureCode, WakeupCode } from '../../model/codes.ts';
import { reveilleCommand } from './invocation.ts';
import { showable } from '../shell/showable.ts';

type Hint = (deviceId: string, retryAfterS: number) => readonly [meaning: string, next: string];

const hints: { readonly [Code in FailureCode]?: Hint } = {
  40003: () => ['the request is not understood', 'its message says which parameter'],
  40105: () => ['the signature is refused', `see every step with ${reveilleCommand('sign … --explain')}`],
  40301: () => [
    'the credential may not wake',
    `make one that may: ${reveilleCommand('credential create --app APP')}`,
  ],
  40302: () => [
    "the device's product belongs to another application",
    'use a credential of that application',
  ],
  40304: (id) => ['the device has expired', `see ${reveilleCommand(`device show ${id}`)}`],
  40403: (id) => [
    'there is no such device',
    `see ${reveilleCommand(`device show ${id}`)}; a disabled one is answered the same`,
  ],
  40412: (id) => [
    'no sleep session: is the module logged in? It may be awake, or out of reach',
    `see when it was last seen: ${reveilleCommand(`call GET '/v1/device/connectivity?device_id=${encodeURIComponent(id)}'`)}`,
  ],
  40902: () => [
    "the module can't be woken this way",
    'a fixed module takes no --custom-data, a keepalive one no wakeup',
  ],
  42901: (_id, retryAfterS) => ['a limit', `come back in ${retryAfterS} s`],
  50204: () => ['the packet was certainly not sent', 'try again'],
  50301: (_id, retryAfterS) => ['the server is starting, stopping or busy', `come back in ${retryAfterS} s`],
  50402: () => [
    'sent or not, nobody knows',
    'try again under the same --request-id: a second wake does no harm',
  ],
};

export function describeWakeup(deviceId: string, wakeup: ApiResult<WakeupData, WakeupCode>): string {
  if (wakeup.ok) return `${showable(deviceId)} is being woken: the packet left at ${wakeup.data.accepted_at}`;
  const { status, code, message, retryAfterS } = wakeup;
  const hint = hints[code]?.(deviceId, retryAfterS ?? 1);
  const said = `${showable(deviceId)} was not woken: ${message} (${code}, HTTP ${status})`;
  return hint === undefined ? said : `${said}\n  ${hint[0]}\n  ${showable(hint[1])}`;
}
