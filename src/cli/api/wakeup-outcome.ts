/**
 * Describes a wakeup's answer, with advice, and polls the server for its outcome.
 * Source: API doc, Endpoint 2; decisions.md, Wakeup; events.md, Reading.
 */
import { pause, type Clock } from '../../lib/clock.ts';
import type {
  ApiFailure,
  ReveilleClient,
  WakeupOutcomeData,
  ApiResult,
  WakeupData,
} from '../../client/reveille-client.ts';
import type { FailureCode, WakeupCode } from '../../model/codes.ts';
import { wakeupToOnlineMsMax } from '../../model/limits.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { showable } from '../../lib/showable-text.ts';

type Hint = (deviceId: string, retryAfterS: number) => readonly [meaning: string, next: string];

const hints: { readonly [Code in FailureCode]?: Hint } = {
  40003: () => ['the request is invalid', 'the message names the parameter'],
  40105: () => ['the signature is refused', `compare every step with ${reveilleCommand('sign … --explain')}`],
  40301: () => [
    'the credential lacks the permission to wake',
    `create one with it: ${reveilleCommand('credential create --app APP')}`,
  ],
  40302: () => [
    "the device's product belongs to another application",
    'use a credential of that application',
  ],
  40304: (id) => ['the device has expired', `see ${reveilleCommand(`device show ${id}`)}`],
  40403: (id) => [
    'there is no such device',
    `see ${reveilleCommand(`device show ${id}`)}; a disabled device gets the same answer`,
  ],
  40412: (id) => [
    'no sleep session: is the module logged in? It may be awake, or out of reach',
    `see when it was last seen: ${reveilleCommand(`call GET '/v1/device/connectivity?device_id=${encodeURIComponent(id)}'`)}`,
  ],
  40902: () => [
    'the module cannot be woken this way',
    'a fixed module accepts no --custom-data, a keepalive module no wakeup',
  ],
  42901: (_id, retryAfterS) => ['a rate limit was exceeded', `try again in ${retryAfterS} s`],
  50204: () => ['the packet was not sent', 'try again'],
  50301: (_id, retryAfterS) => ['the server is starting, stopping or busy', `try again in ${retryAfterS} s`],
  50402: () => ['it is unknown whether the packet was sent', 'try again: a second wakeup does no harm'],
};

export function describeWakeup(deviceId: string, wakeup: ApiResult<WakeupData, WakeupCode>): string {
  if (wakeup.ok) return `${showable(deviceId)} is being woken: the packet left at ${wakeup.data.accepted_at}`;
  const { status, code, message, retryAfterS } = wakeup;
  const hint = hints[code]?.(deviceId, retryAfterS ?? 1);
  const said = `${showable(deviceId)} was not woken: ${message} (${code}, HTTP ${status})`;
  return hint === undefined ? said : `${said}\n  ${hint[0]}\n  ${showable(hint[1])}`;
}

const waitS = 5;
/** Delay between requests to a server that does not long-poll. */
const pauseMs = 200;

/** By then the server has expired the wakeup; 5 s allow for clock differences. */
const patienceMs = wakeupToOnlineMsMax + 5000;

/** The outcome; the last answer if it is still open after the server's deadline. Throws a CommandError if the server refuses. */
export async function awaitOutcome(
  api: ReveilleClient,
  clock: Clock,
  requestId: string,
  deviceId: string,
): Promise<WakeupOutcomeData> {
  const untilMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const result = await api.wakeupOutcome(requestId, { deviceId, waitS });
    if (!result.ok)
      throw new CommandError(
        `the server refuses to report the outcome of wakeup ${requestId}: ${wordsOf(result)}`,
      );
    const { status } = result.data;
    const isOpen = status === 'accepted' || status === 'unknown';
    if (!isOpen || clock.monotonicMs() >= untilMs) return result.data;
    await pause(clock, pauseMs);
  }
}

function wordsOf({ status, code, message }: ApiFailure<FailureCode>): string {
  return `${message} (${code}, HTTP ${status})`;
}

/** Wakes the device and waits for the outcome. Throws a CommandError if either request is refused. */
export async function wakeAndWait(
  api: ReveilleClient,
  clock: Clock,
  deviceId: string,
): Promise<WakeupOutcomeData> {
  const result = await api.wake(deviceId);
  if (result.ok) return awaitOutcome(api, clock, result.requestId, deviceId);
  throw new CommandError(`the wakeup was refused: ${wordsOf(result)}`);
}

export function describeOutcome(outcome: WakeupOutcomeData): string {
  switch (outcome.status) {
    case 'completed':
      if (outcome.already_online) return 'it was online already';
      return `online again after ${outcome.woke_after_ms} ms${outcome.cause === null ? '' : ` (cause: ${outcome.cause})`}`;
    case 'failed':
      return 'failed: its sleep connection was reset after the packet, and it did not come online';
    case 'expired':
      return 'expired: it did not come online within 60 s';
    case 'accepted':
      return 'not online yet';
    case 'unknown':
      return 'not online yet; it is unknown whether the packet was sent';
  }
}
