/** What became of a wakeup, asked of the server until it is known. Source: events.md, Reading. */
import { wakeupToOnlineMsMax } from '../domain/limits.ts';
import type { WakeCause } from '../domain/signal.ts';
import type { WakeupStatus } from '../domain/wakeup.ts';
import { sendApiRequest, type ApiAnswer } from './api-request.ts';
import { CommandError } from './command-error.ts';
import { requestIdOf, submitWakeup, wakeupPath, type ApiAccess } from './wakeup-request.ts';

/** As the wire has it. */
export interface WakeupOutcome {
  readonly request_id: string;
  readonly device_id: string;
  readonly status: WakeupStatus;
  readonly accepted_at: string | null;
  readonly completed_at: string | null;
  readonly woke_after_ms: number | null;
  readonly already_online: boolean;
  readonly cause: WakeCause | null;
}

/** The server answers when the outcome is known, or after `waitSeconds` (0-30). */
export function askOutcome(
  { origin, credential, clock }: ApiAccess,
  requestId: string,
  waitSeconds: number,
): Promise<ApiAnswer> {
  const rawQuery = `request_id=${encodeURIComponent(requestId)}&wait=${waitSeconds}`;
  const target = { path: wakeupPath, rawQuery };
  return sendApiRequest({ origin, credential, method: 'GET', target, body: null }, clock);
}

/** Well within what a request may take. */
const waitSeconds = 5;
/** For a server that does not wait, or cannot. */
const pauseMs = 200;

/** By then a server has given the device up; a little is for its clock. */
const patienceMs = wakeupToOnlineMsMax + 5000;

/**
 * The outcome, or, when it is not known even after the server should have given up, what is known then. Throws a
 * CommandError when the server doesn't say.
 */
export async function awaitOutcome(access: ApiAccess, requestId: string): Promise<WakeupOutcome> {
  const untilMs = access.clock.monotonicMs() + patienceMs;
  for (;;) {
    const answer = await askOutcome(access, requestId, waitSeconds);
    const outcome = answer.json?.['data'] as WakeupOutcome | undefined;
    if (answer.code !== 0 || outcome === undefined) throw outcomeUnknown(requestId, answer);
    const isOpen = outcome.status === 'accepted' || outcome.status === 'unknown';
    if (!isOpen || access.clock.monotonicMs() >= untilMs) return outcome;
    await new Promise<void>((resolve) => void access.clock.after(pauseMs, resolve));
  }
}

function outcomeUnknown(requestId: string, answer: ApiAnswer): CommandError {
  return new CommandError(`the server does not say what became of wakeup ${requestId}: ${wordsOf(answer)}`);
}

function wordsOf({ status, code, json, text }: ApiAnswer): string {
  const message = typeof json?.['message'] === 'string' ? json['message'] : text;
  return `${message} (${code ?? 'no code'}, HTTP ${status})`;
}

/** Wakes and waits for the outcome. Throws a CommandError when the device could not be woken, or nobody says. */
export async function wakeAndWait(access: ApiAccess, deviceId: string): Promise<WakeupOutcome> {
  const answer = await submitWakeup(access, { deviceId });
  const requestId = requestIdOf(answer);
  if (answer.code === 0 && requestId !== null) return awaitOutcome(access, requestId);
  throw new CommandError(`the wakeup was refused: ${wordsOf(answer)}`);
}

/** In words. */
export function describeOutcome(outcome: WakeupOutcome): string {
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
