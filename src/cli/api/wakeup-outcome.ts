/** What became of a wakeup, asked of the server until it is known. Source: events.md, Reading. */
import type { Clock } from '../../lib/clock.ts';
import type { ApiFailure, ReveilleClient, WakeupOutcomeData } from '../../client/reveille-client.ts';
import type { FailureCode } from '../../model/codes.ts';
import { wakeupToOnlineMsMax } from '../../model/limits.ts';
import { CommandError } from '../shell/command-error.ts';

const waitS = 5;
/** For a server that does not wait, or cannot. */
const pauseMs = 200;

/** By then a server has given the device up; a little is for its clock. */
const patienceMs = wakeupToOnlineMsMax + 5000;

/**
 * The outcome, or, when it is not known even after the server should have given up, what is known then. Throws a
 * CommandError when the server doesn't say.
 */
export async function awaitOutcome(
  api: ReveilleClient,
  clock: Clock,
  requestId: string,
): Promise<WakeupOutcomeData> {
  const untilMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const result = await api.wakeupOutcome(requestId, { waitS });
    if (!result.ok)
      throw new CommandError(
        `the server does not say what became of wakeup ${requestId}: ${wordsOf(result)}`,
      );
    const { status } = result.data;
    const isOpen = status === 'accepted' || status === 'unknown';
    if (!isOpen || clock.monotonicMs() >= untilMs) return result.data;
    await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
  }
}

function wordsOf({ status, code, message }: ApiFailure<FailureCode>): string {
  return `${message} (${code}, HTTP ${status})`;
}

/** Wakes and waits for the outcome. Throws a CommandError when the device could not be woken, or nobody says. */
export async function wakeAndWait(
  api: ReveilleClient,
  clock: Clock,
  deviceId: string,
): Promise<WakeupOutcomeData> {
  const result = await api.wake(deviceId);
  if (result.ok) return awaitOutcome(api, clock, result.requestId);
  throw new CommandError(`the wakeup was refused: ${wordsOf(result)}`);
}

/** In words. */
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
      return 'not online yet; whether the packet was sent, nobody knows';
  }
}
