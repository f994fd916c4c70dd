/** Whether a device is awake, and how it is woken: by a packet, and by waiting for it to sign in. */
import { createHash } from 'node:crypto';
import type { CallContext } from './call-context.ts';

/** `again`: another wake may help; `unreachable`: nothing will, while this phone rings. */
export type WakeEnd = 'online' | 'again' | 'unreachable';

/** The longest the API waits with an answer. */
const waitSecondsMax = 30;

/** False also where it cannot be told: a wake of a device that is online does no harm. */
export async function isOnline(context: CallContext): Promise<boolean> {
  const { deps, call, deadline } = context;
  const connectivity = await deps.api.connectivity(call.deviceId, { signal: deadline.signal });
  if (connectivity.ok) return connectivity.data.signal.is_online;
  context.notifyRefusal('connectivity.refused', connectivity);
  return false;
}

/** `attempt`, from 1: each is a wakeup of its own; the same one, asked for again, wakes once. */
export async function wakeDevice(context: CallContext, attempt: number): Promise<WakeEnd> {
  const { deps, call, deadline } = context;
  // Before the wake, so that a device that signs in at once is not missed.
  const report = deps.capabilities.nextReport(call.deviceId);
  const over = new AbortController();
  const signal = AbortSignal.any([deadline.signal, over.signal]);
  try {
    const seen = report.seen.then((): WakeEnd => 'online');
    const end = await Promise.race([seen, submitWake(context, attempt, signal)]);
    if (end === 'online') await soon(context, report.seen);
    return end;
  } finally {
    over.abort();
    report.forget();
  }
}

/** Resolves with it, or when that takes too long to be worth a caller's time. */
export async function soon(context: CallContext, report: Promise<void>): Promise<void> {
  await Promise.race([report, context.deadline.pause(context.deps.reportMsMax)]);
}

async function submitWake(context: CallContext, attempt: number, signal: AbortSignal): Promise<WakeEnd> {
  const { api } = context.deps;
  const requestId = wakeRequestId(context.call.roomId, attempt);
  const wake = await api.wake(context.call.deviceId, { requestId, signal });
  // Nobody knows whether the packet left; what comes of it will tell.
  const isUnknown = !wake.ok && wake.code === 50402;
  if (!wake.ok && !isUnknown) return context.notifyRefusal('wake.refused', wake) ? 'again' : 'unreachable';
  context.notify(isUnknown ? 'wake.unknown' : 'wake.accepted', { request_id: requestId });
  return followWake(context, requestId, signal);
}

async function followWake(context: CallContext, requestId: string, signal: AbortSignal): Promise<WakeEnd> {
  const { deps, deadline } = context;
  for (;;) {
    const waitS = Math.min(waitSecondsMax, deadline.leftS);
    const outcome = await deps.api.wakeupOutcome(requestId, { waitS, signal });
    if (outcome.ok) {
      const { status, woke_after_ms } = outcome.data;
      if (status === 'completed') context.notify('wake.completed', { request_id: requestId, woke_after_ms });
      if (status === 'completed') return 'online';
      if (status === 'failed' || status === 'expired')
        context.notify(`wake.${status}`, { request_id: requestId });
      if (status === 'failed') return 'again';
      if (status === 'expired') return 'unreachable';
    } else {
      context.notifyRefusal('wake-outcome.refused', outcome);
      if (await isOnline(context)) return 'online';
    }
    await deadline.pause(deps.retryPauseMs);
  }
}

/** The same for the same room and attempt: a room's own id may have characters that a request id may not. */
export function wakeRequestId(roomId: string, attempt: number): string {
  return `call-${createHash('sha256').update(roomId).digest('hex').slice(0, 32)}-${attempt}`;
}
